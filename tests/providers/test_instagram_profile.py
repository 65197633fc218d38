"""Profiles: twelve posts a page, where to read on, and who has none to show."""

from __future__ import annotations

import json
import re

import httpx
import pytest

from providers._contract import Blocked, Empty, NotFound, Unsupported
from providers.instagram_profile import Posts, parse_posts
from tests.fakenet import Answer, Request, payload
from tests.fakenet.instagram import NEW_USER, NOBODY, PRIVATE_USER, USER
from tests.providers.test_instagram import Net, reading

DATA = json.loads(payload("instagram-profile", "posts.json"))["data"]
NEXT = re.compile(r"^Next page: <https://www\.instagram\.com/(.+)>$", re.MULTILINE)


def variables(request: httpx.Request) -> dict[str, object]:
    found: dict[str, object] = json.loads(dict(httpx.QueryParams(request.content.decode()))["variables"])
    return found


async def test_all_posts_are_read_by_following_the_next_page() -> None:
    net = Net()
    pages, path = [], f"{USER}/"
    async with reading(net, "instagram-profile") as read:
        while path:
            page = await read(path)
            pages.append(page.markdown)
            following = NEXT.search(page.markdown)
            path = following[1] if following else ""

    posts = [re.findall(r"^Sample number (\d+)$", text, re.MULTILINE) for text in pages]
    assert [len(each) for each in posts] == [12, 12, 6]
    assert [int(number) for each in posts for number in each] == list(range(1, 31))
    assert [variables(request) for request in net.seen] == [
        {"first": 12, "username": USER},
        {"username": USER},
        {"first": 12, "username": USER, "after": "QVFD12=="},
        {"first": 12, "username": USER, "after": "QVFD24=="},
    ]


async def test_first_page_says_who_it_is_and_dates_each_post() -> None:
    async with reading(Net(), "instagram-profile") as read:
        page = await read(f"{USER}/reels/")

    blocks = page.markdown.split("\n\n")
    assert blocks[:5] == [
        "# Sample User (@sample_user) on Instagram",
        "1,234 followers, 56 following",
        "Measures things.\nSells none.",
        "## 2026-06-28, [reel](https://www.instagram.com/p/DaI1heMgpXV/)",
        "Sample number 1",
    ]
    assert "by @other.user" in page.markdown
    assert page.markdown.count("by @") == 2
    assert page.signals.document
    assert page.title == "Sample User (@sample_user) on Instagram"


async def test_posts_are_shown_where_the_site_does_not_say_who_it_is() -> None:
    net = Net()
    site = net.site

    def site_without_about(request: Request) -> Answer:
        return Answer(500) if "ProfileRoot" in request.form["fb_api_req_friendly_name"] else site(request)

    net.site = site_without_about
    async with reading(net, "instagram-profile") as read:
        page = await read(f"{USER}/")

    assert page.markdown.startswith("# @sample_user on Instagram\n\n## 2026-06-28")


async def test_empty_first_answer_is_asked_for_once_more() -> None:
    net = Net()
    site, empty = net.site, b'{"data": {"xig_user_by_username": {"id": "1"}}}'
    net.site = lambda request: Answer(200, empty) if len(net.seen) == 1 else site(request)
    async with reading(net, "instagram-profile") as read:
        page = await read(f"{USER}/")

    assert "Sample number 12" in page.markdown
    assert len(net.seen) == 3


@pytest.mark.parametrize(("user", "kind"), [(PRIVATE_USER, Unsupported), (NEW_USER, Empty), (NOBODY, NotFound)])
async def test_private_new_and_missing_accounts_are_told_apart(user: str, kind: type[Exception]) -> None:
    net = Net()
    async with reading(net, "instagram-profile") as read:
        with pytest.raises(kind):
            await read(f"{user}/")

    assert len(net.seen) == 3


async def test_login_wall_is_blocked() -> None:
    net = Net()
    net.site.walled = True  # type: ignore[attr-defined]
    async with reading(net, "instagram-profile") as read:
        with pytest.raises(Blocked):
            await read(f"{USER}/")

    assert len(net.seen) == 1


def test_cursor_that_comes_again_or_is_none_ends_the_list() -> None:
    assert parse_posts(DATA, "").after == "QVFD"
    assert parse_posts(DATA, "QVFD").after == ""
    for info in (None, {"has_next_page": False, "end_cursor": "x"}, {"has_next_page": True, "end_cursor": 'a"b'}):
        changed = json.loads(json.dumps(DATA))
        changed["xig_user_by_username"]["polaris_ordered_timeline_connection"]["page_info"] = info
        assert parse_posts(changed, "").after == ""
    assert parse_posts({"xig_user_by_username": None}, "") == Posts((), "")


def test_picture_is_told_by_its_description_where_it_has_no_caption() -> None:
    entry = parse_posts(DATA, "").entries[1]

    assert (entry.kind, entry.caption, entry.user) == ("picture", "Photo of a kiln", "other")
