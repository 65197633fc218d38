"""Which addresses are posts or profiles of Instagram's (vendors/instagram.md section 1), and which are neither."""

from __future__ import annotations

import pytest

from providers._instagram_addresses import Post, Profile, Share, post_at, profile_at, published

CODE = "DaI1heMgpXV"
SITE = "https://www.instagram.com"
PRIVATE = "A" * 28


@pytest.mark.parametrize(
    "url",
    [
        f"{SITE}/p/{CODE}/",
        f"{SITE}/p/{CODE}",
        f"{SITE}/reel/{CODE}/",
        f"{SITE}/reels/{CODE}/",
        f"{SITE}/tv/{CODE}/",
        f"{SITE}/sample_user/p/{CODE}/",
        f"{SITE}/sample.user/reel/{CODE}/",
        f"http://instagram.com/p/{CODE}/",
        f"https://m.instagram.com/p/{CODE}/",
        f"https://instagr.am/p/{CODE}/",
        f"https://WWW.Instagram.com/p/{CODE}/?igsh=abc&img_index=2&hl=en&utm_source=x#top",
        f"{SITE}/p/{CODE}{PRIVATE}/",
    ],
)
def test_every_form_of_a_posts_address_gives_its_code(url: str) -> None:
    assert post_at(url) == Post(CODE)
    assert profile_at(url) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (f"{SITE}/share/p/BAabc", "share/p/BAabc"),
        (f"{SITE}/share/reel/BAabc/", "share/reel/BAabc"),
        (f"{SITE}/share/BAabc?x=1", "share/BAabc"),
    ],
)
def test_a_shared_address_has_no_code_and_is_to_be_followed(url: str, path: str) -> None:
    assert post_at(url) == Share(path)
    assert profile_at(url) is None


@pytest.mark.parametrize(
    "url",
    [
        f"{SITE}/reels/audio/123456/",
        f"{SITE}/reels/audio/",
        f"{SITE}/stories/sample_user/123/",
        f"{SITE}/explore/tags/kiln/",
        f"{SITE}/explore/",
        f"{SITE}/accounts/login/",
        f"{SITE}/p/",
        f"{SITE}/p/a b/",
        f"{SITE}/p/{CODE}/embed/captioned/",
        f"{SITE}/share/p/",
        f"{SITE}/share/x/BAabc/",
        f"{SITE}/direct/p/{CODE}/",
        f"{SITE}/",
        f"https://instagram.com.example.org/p/{CODE}/",
        f"https://example.org/https://www.instagram.com/p/{CODE}/",
        f"https://example.org/?u={SITE}/p/{CODE}/",
        f"https://user@www.instagram.com/p/{CODE}/",
        f"https://www.instagram.com:8443/p/{CODE}/",
        f"ftp://www.instagram.com/p/{CODE}/",
        "https://[broken/p/x/",
        "https://help.instagram.com/p/x/",
    ],
)
def test_everything_else_is_no_post(url: str) -> None:
    assert post_at(url) is None
    assert profile_at(url) is None


@pytest.mark.parametrize(
    ("url", "profile"),
    [
        (f"{SITE}/sample_user/", Profile("sample_user")),
        (f"{SITE}/sample.user?hl=en", Profile("sample.user")),
        (f"{SITE}/sample_user/reels/", Profile("sample_user")),
        (f"{SITE}/sample_user/tagged", Profile("sample_user")),
        (f"{SITE}/sample_user/?after=QVFD%2B%3D%3D", Profile("sample_user", "QVFD+==")),
        (f"{SITE}/sample_user/?after=%22%7D%20bad", Profile("sample_user")),
        ("https://instagr.am/sample_user", Profile("sample_user")),
    ],
)
def test_profiles_are_known_by_their_user_with_where_to_read_on(url: str, profile: Profile) -> None:
    assert profile_at(url) == profile
    assert post_at(url) is None


@pytest.mark.parametrize(
    "path", ["explore", "Explore", "robots.txt", "a" * 31, "two/names", "sample_user/followers", "é"]
)
def test_names_of_the_sites_own_are_no_users(path: str) -> None:
    assert profile_at(f"{SITE}/{path}/") is None


def test_the_address_of_the_next_posts_is_read_back_as_it_was_written() -> None:
    profile = Profile("sample_user", "QVFD+/==")

    assert profile_at(profile.url) == profile


@pytest.mark.parametrize(
    ("code", "pk", "day"),
    [("Chunk8-jurw", 2913440072144448240, "2022-08-26"), ("DaI1heMgpXV", 3929626071510717909, "2026-06-28")],
)
def test_a_code_tells_the_id_and_the_day_of_its_post(code: str, pk: int, day: str) -> None:
    assert Post(code).pk == pk
    assert published(pk) == day


def test_an_id_beyond_all_calendars_names_no_day() -> None:
    assert published(Post("_" * 28).pk) is None
