"""The special readers against every trouble of the page and of their remotes: who is asked next, and how often."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from actors.results import ReadResult
from providers._contract import Kind, Note
from tests.contract._memory import MemoryNet, Readers, open_readers, steps
from tests.contract._sites import PLAIN_402, PLAIN_429, PLAIN_500, SENTENCE, SHORT, crawl4ai
from tests.fakenet import Answer, as_html, as_json
from tests.fakenet._groq import failure as groq_failure
from tests.fakenet.instagram import (
    GATED,
    GONE,
    LONG_PICTURE,
    NOBODY,
    PICTURE,
    PRIVATE_USER,
    REEL,
    RETIRED,
    USER,
    WALL,
    WITHHELD,
)
from tests.fakenet.supadata import SILENT as NO_CAPTIONS
from tests.fakenet.supadata import failure as supadata_failure
from tests.fakenet.youtube import BOT
from tests.fakenet.youtube import GONE as NO_VIDEO

TYPES = ("youtube", "supadata", "instagram", "instagram-profile", "scholarly", "crawl4ai", "tavily")
REFUSAL = as_html("<h1>403 Forbidden</h1>", 403)
GOOD = crawl4ai(200, SENTENCE * 10)
VIDEO = "https://youtu.be/dQw4w9WgXcQ"
POST = "https://www.instagram.com/p/{}/"
PROFILE = "https://www.instagram.com/{}/"
PAPER = "https://arxiv.org/abs/2401.12345"

Setting = Callable[[MemoryNet], object]


@asynccontextmanager
async def opened(*settings: Setting, **variables: str) -> AsyncIterator[Readers]:
    """All special readers, before a web that refuses us, a Crawl4AI that reads everything, and a Tavily."""
    async with open_readers(*TYPES, **variables) as readers:
        readers.net.answer("web", REFUSAL)
        readers.net.answer("crawl4ai", GOOD)
        for setting in settings:
            setting(readers.net)
        yield readers


def answers(remote: str, answer: Answer) -> Setting:
    return lambda net: net.answer(remote, answer)


def hangs(remote: str) -> Setting:
    return lambda net: net.silence(remote)


def reason_of(name: str, result: ReadResult) -> Kind | None:
    reason: Kind | None = next(reason for instance, _, reason in steps(result) if instance == name)
    return reason


# --- videos: final readers ------------------------------------------------------------------------------------------


def empty_captions(net: MemoryNet) -> None:
    player = net.handlers["youtube"]
    net.plays["youtube"] = lambda request: player(request) if request.method == "POST" else Answer(200, b"")


@pytest.mark.parametrize(
    ("trouble", "reason", "tries", "elapsed"),
    [
        pytest.param(answers("youtube", Answer(403)), Kind.BLOCKED, 1, 0, id="403"),
        pytest.param(answers("youtube", PLAIN_429), Kind.RATE_LIMITED, 1, 0, id="429"),
        pytest.param(answers("youtube", PLAIN_500), Kind.UNAVAILABLE, 2, 0, id="500"),
        pytest.param(empty_captions, Kind.BLOCKED, 2, 0, id="captions withheld"),
        pytest.param(hangs("youtube"), Kind.TIMEOUT, 1, 25, id="timeout"),
    ],
)
async def test_trouble_at_youtube_goes_to_supadata(trouble, reason, tries, elapsed, autojump_clock):
    async with opened(trouble) as readers:
        result = await readers.read(VIDEO)

    assert (result.status, result.provider, reason_of("youtube", result)) == ("success", "supadata", reason)
    assert readers.net.calls == {"youtube": tries, "supadata": 1}
    assert elapsed <= result.elapsed <= elapsed + 1


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param(answers("supadata", supadata_failure(404, "not-found")), Kind.EMPTY, id="404"),
        pytest.param(answers("supadata", supadata_failure(403, "forbidden")), Kind.UNSUPPORTED, id="403"),
        pytest.param(
            answers("supadata", supadata_failure(206, "transcript-unavailable")), Kind.EMPTY, id="without captions"
        ),
        pytest.param(answers("supadata", PLAIN_402), Kind.QUOTA_SPENT, id="402"),
        pytest.param(
            answers("supadata", supadata_failure(429, "limit-exceeded", "Your monthly credits are used up")),
            Kind.QUOTA_SPENT,
            id="402 as 429",
        ),
        pytest.param(answers("supadata", supadata_failure(429, "limit-exceeded")), Kind.RATE_LIMITED, id="429"),
        pytest.param(answers("supadata", PLAIN_500), Kind.UNAVAILABLE, id="500"),
        pytest.param(hangs("supadata"), Kind.TIMEOUT, id="timeout"),
    ],
)
async def test_video_that_both_fail_on_ends_with_their_reasons_and_asks_nobody_else(trouble, reason, autojump_clock):
    async with opened(trouble) as readers:
        result = await readers.read(f"https://youtu.be/{BOT}")

    assert (result.status, reason_of("youtube", result), reason_of("supadata", result)) == (
        "failed",
        Kind.BLOCKED,
        reason,
    )
    assert readers.net.calls == {"youtube": 1, "supadata": 1}
    assert result.elapsed <= 25


async def test_video_that_is_gone_is_not_paid_for(autojump_clock):
    async with opened() as readers:
        result = await readers.read(f"https://youtu.be/{NO_VIDEO}")

    assert (result.status, result.reason) == ("failed", Kind.NOT_FOUND)
    assert readers.net.calls == {"youtube": 1}


async def test_video_without_captions_is_its_description_and_not_paid_for(autojump_clock):
    async with opened() as readers:
        result = await readers.read("https://youtu.be/sssssssssss")

    assert (result.status, result.provider) == ("success", "youtube")
    assert readers.net.calls == {"youtube": 1}
    assert NO_CAPTIONS not in result.page.markdown


# --- posts ------------------------------------------------------------------------------------------------------------


async def test_reel_is_read_with_its_words_and_nobody_else_is_asked(autojump_clock):
    async with opened() as readers:
        result = await readers.read(POST.format(REEL))

    assert (result.status, result.provider, result.notes) == ("success", "instagram", ())
    assert readers.net.calls == {"instagram": 1, "groq": 1}
    assert [step.billed for step in result.steps] == [1]
    media = next(request for request in readers.net.seen if request.remote == "groq")
    assert b"https://scontent.cdninstagram.com/a.mp4?" in media.body


@pytest.mark.parametrize(
    ("url", "trouble", "reason", "tries"),
    [
        pytest.param(POST.format(GONE), None, Kind.EMPTY, 1, id="gone or private"),
        pytest.param(POST.format(GATED), None, Kind.UNSUPPORTED, 1, id="gated"),
        pytest.param(PROFILE.format(PRIVATE_USER), None, Kind.UNSUPPORTED, 3, id="private account"),
        *(
            pytest.param(url, answers("instagram", answer), reason, tries, id=f"{kind} {name}")
            for kind, url in (("post", POST.format(REEL)), ("profile", PROFILE.format(USER)))
            for name, answer, reason, tries in (
                ("wall", WALL, Kind.BLOCKED, 1),
                ("redirected", Answer(302, headers=(("location", "/accounts/login/"),)), Kind.BLOCKED, 1),
                ("401", as_json({"require_login": True}, 401), Kind.BLOCKED, 1),
                ("403", Answer(403), Kind.BLOCKED, 1),
                ("429", Answer(429), Kind.RATE_LIMITED, 1),
                # A query that is billed with the words it leads to is not repeated.
                ("500", Answer(500), Kind.UNAVAILABLE, 1 if kind == "post" else 2),
                # The post's own page is tried where its query is retired.
                ("retired", as_json({"errors": [{"message": "x"}]}), Kind.MALFORMED, 2 if kind == "post" else 1),
            )
        ),
    ],
)
async def test_post_or_profile_that_is_kept_from_us_goes_to_the_ordinary_readers(
    url, trouble, reason, tries, autojump_clock
):
    async with opened(*filter(None, [trouble])) as readers:
        result = await readers.read(url)

    name = "instagram" if "/p/" in url else "instagram-profile"
    assert (result.status, result.provider, reason_of(name, result)) == ("success", "crawl4ai", reason)
    assert readers.net.calls == {"instagram": tries, "web": 2, "crawl4ai": 1}


async def test_without_groqs_key_a_post_goes_to_the_ordinary_readers_at_once(autojump_clock):
    async with opened(GROQ_API_KEY="") as readers:
        result = await readers.read(POST.format(REEL))

    assert result.provider == "crawl4ai"
    assert readers.net.calls == {"web": 2, "crawl4ai": 1}


async def test_profile_that_does_not_exist_ends_the_walk(autojump_clock):
    async with opened() as readers:
        result = await readers.read(PROFILE.format(NOBODY))

    assert (result.status, result.reason) == ("failed", Kind.NOT_FOUND)
    assert readers.net.calls == {"instagram": 3}


async def test_profile_is_read_and_nobody_else_is_asked(autojump_clock):
    async with opened() as readers:
        result = await readers.read(PROFILE.format(USER))

    assert (result.status, result.provider) == ("success", "instagram-profile")
    assert readers.net.calls == {"instagram": 2}


async def test_post_whose_query_is_retired_is_heard_all_the_same(autojump_clock):
    async with opened() as readers:
        result = await readers.read(POST.format(RETIRED))

    assert (result.status, result.provider) == ("success", "instagram")
    assert readers.net.calls == {"instagram": 2, "groq": 1}


@pytest.mark.parametrize("code", [PICTURE, LONG_PICTURE, WITHHELD])
async def test_post_without_words_goes_on_and_its_caption_is_kept(code, autojump_clock):
    async with opened(answers("crawl4ai", crawl4ai(403, "")), answers("tavily", PLAIN_402)) as readers:
        result = await readers.read(POST.format(code))

    heard = {"groq": 1} if code == WITHHELD else {}
    # Three accounts of Tavily, none of which has credit.
    assert readers.net.calls == {"instagram": 1, "web": 2, "crawl4ai": 1, "tavily": 3, **heard}
    assert (result.status, result.provider, result.notes) == ("success", "instagram", (Note.THIN,))
    assert "# Sample User (@sample_user) on Instagram" in result.page.markdown


async def test_post_without_words_is_better_read_by_another_and_costs_nothing_where_its_page_is_short(autojump_clock):
    short = as_html(f"<!doctype html><title>A</title><article><p>{SHORT}</p></article>")
    async with opened() as readers:
        better = await readers.read(POST.format(PICTURE))
    async with opened(answers("web", short), answers("crawl4ai", crawl4ai(200, SHORT))) as readers:
        await readers.read(POST.format(PICTURE))

    assert better.provider == "crawl4ai"
    assert readers.net.calls == {"instagram": 1, "web": 1, "crawl4ai": 1}


@pytest.mark.parametrize(
    ("answer", "reason", "is_shut"),
    [
        pytest.param(PLAIN_402, Kind.QUOTA_SPENT, True, id="402"),
        pytest.param(
            groq_failure(429, "Rate limit reached", **{"retry-after": "17"}), Kind.RATE_LIMITED, True, id="429"
        ),
        pytest.param(groq_failure(401, "Invalid API Key"), Kind.DENIED, True, id="401"),
        pytest.param(PLAIN_500, Kind.UNAVAILABLE, False, id="500"),
        pytest.param(groq_failure(498, "capacity exceeded"), Kind.UNAVAILABLE, False, id="498"),
    ],
)
async def test_trouble_at_groq_is_told_as_such_and_goes_on(answer, reason, is_shut, autojump_clock):
    async with opened(answers("groq", answer)) as readers:
        result = await readers.read(POST.format(REEL))
        first = dict(readers.net.calls)
        again = await readers.read(POST.format(REEL))

    assert (result.provider, reason_of("instagram", result)) == ("crawl4ai", reason)
    assert first == {"instagram": 1, "groq": 1, "web": 2, "crawl4ai": 1}
    assert reason_of("instagram", again) == (Kind.CIRCUIT_OPEN if is_shut else reason)
    assert readers.net.calls["groq"] == (1 if is_shut else 2)


@pytest.mark.parametrize("remote", ["instagram", "groq"])
async def test_post_whose_remote_hangs_is_read_by_a_free_reader_beside_it(remote, autojump_clock):
    async with opened(hangs(remote)) as readers:
        result = await readers.read(POST.format(REEL))

    # The local reader is refused after twelve seconds; the next free one starts as long after it.
    assert (result.status, result.provider, result.elapsed) == ("success", "crawl4ai", 24.0)
    assert reason_of("instagram", result) == Kind.CANCELLED
    assert readers.net.left_at == {remote: 24.0}


# --- papers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "trouble", "calls"),
    [
        pytest.param(PAPER, answers("arxiv", Answer(404)), {"arxiv": 2}, id="arXiv 404"),
        pytest.param(PAPER, answers("arxiv", Answer(403)), {"arxiv": 1}, id="arXiv 403"),
        pytest.param(PAPER, answers("arxiv", Answer(429)), {"arxiv": 1}, id="arXiv 429"),
        pytest.param(PAPER, answers("arxiv", Answer(500)), {"arxiv": 2}, id="arXiv 500"),
        pytest.param("https://doi.org/10.9999/closed", None, {"unpaywall": 1, "europepmc": 1}, id="no copy"),
        pytest.param(
            "https://doi.org/10.9999/closed",
            answers("unpaywall", Answer(500)),
            {"unpaywall": 1, "europepmc": 1},
            id="Unpaywall 500",
        ),
    ],
)
async def test_paper_without_a_copy_goes_to_the_ordinary_readers(url, trouble, calls, autojump_clock):
    async with opened(*filter(None, [trouble])) as readers:
        result = await readers.read(url)

    assert (result.status, result.provider) == ("success", "crawl4ai")
    assert readers.net.calls == {**calls, "web": 2, "crawl4ai": 1}


async def test_paper_that_hangs_is_read_by_a_free_reader_beside_it(autojump_clock):
    page = as_html(f"<!doctype html><title>A</title><article><h1>A</h1><p>{SENTENCE * 12}</p></article>")
    async with opened(hangs("arxiv"), answers("web", page)) as readers:
        result = await readers.read(PAPER)

    assert (result.provider, result.elapsed) == ("trafilatura", 12.0)
    assert readers.net.calls == {"arxiv": 1, "web": 1}
    assert readers.net.left_at == {"arxiv": 12.0}
