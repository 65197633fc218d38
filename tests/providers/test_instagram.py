"""What the instagram type asks for, which track it lets be heard, and what becomes of posts that are not to be seen."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from providers._contract import (
    Blocked,
    Empty,
    Malformed,
    NotFound,
    Page,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Target,
    Unsupported,
)
from providers._instagram_addresses import Post
from providers._registry import lookup
from providers._workers import inline_workers
from providers.instagram import parse_media
from tests.fakenet import Answer, Request, World, payload
from tests.fakenet._groq import Groq
from tests.fakenet.instagram import (
    ALBUM,
    GATED,
    GONE,
    LONG_PICTURE,
    PICTURE,
    REEL,
    RETIRED,
    SHARED,
    SHARED_USER,
    SILENT,
    WITHHELD,
    Instagram,
)

Handler = Callable[[Request], Answer]
SAMPLE = json.loads(payload("instagram", "post.json"))["data"]


class Net:
    """The two fakes behind a client without sockets; `seen` has the requests by host."""

    def __init__(self) -> None:
        self.site: Handler = Instagram(World())
        self.groq: Handler = Groq(World())
        self.seen: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        handler = self.groq if request.url.host == "api.groq.com" else self.site
        headers = tuple((name.lower(), value) for name, value in request.headers.items())
        target = request.url.raw_path.decode()
        answer = handler(Request(request.url.host, request.method, target, headers, request.content, 0.0))
        sent = {"content-type": answer.content_type, **dict(answer.headers)}
        return httpx.Response(answer.status, content=answer.body, headers=sent)

    @property
    def hosts(self) -> list[str]:
        return [request.url.host for request in self.seen]


@asynccontextmanager
async def reading(net: Net, name: str = "instagram") -> AsyncIterator[Callable[[str], Any]]:
    provider = lookup(name)(**({"key": "hush"} if name == "instagram" else {}))
    async with httpx.AsyncClient(transport=httpx.MockTransport(net)) as client:

        async def read(path: str) -> Page:
            page: Page = await provider.read(Target(f"https://www.instagram.com/{path}"), client)
            return page

        with inline_workers():
            yield read


async def test_reel_is_read_with_its_caption_and_its_words() -> None:
    net = Net()
    async with reading(net) as read:
        page = await read(f"sample_user/reel/{REEL}/?igsh=1")

    assert net.hosts == ["www.instagram.com", "api.groq.com"]
    blocks = page.markdown.split("\n\n")
    assert blocks[:4] == [
        "# Sample User (@sample_user) on Instagram",
        "2026-06-28, 0:31",
        "Sample caption #tag",
        "## Transcript (en)",
    ]
    assert blocks[4].startswith("[0:00] The first thing to know about a reel")
    assert (page.title, page.byline, page.site_name) == (
        "Sample caption #tag",
        "Sample User (@sample_user)",
        "Instagram",
    )
    assert (page.published, page.language) == ("2026-06-28", "en")
    assert (page.signals.document, page.signals.second_best, page.evidence) == (True, False, None)


async def test_query_has_the_fields_and_headers_of_the_sites_own_script() -> None:
    net = Net()
    async with reading(net) as read:
        await read(f"p/{REEL}/")

    request = net.seen[0]
    form = dict(httpx.QueryParams(request.content.decode()))
    assert str(request.url) == "https://www.instagram.com/api/graphql"
    assert json.loads(form["variables"]) == {"media_id": "3929626071510717909"}
    assert form["doc_id"] == "27130156389949648"
    assert form["fb_api_caller_class"] == "RelayModern"
    assert form["lsd"] == request.headers["x-fb-lsd"]
    assert request.headers["referer"] == f"https://www.instagram.com/p/{REEL}/"
    assert request.headers["x-asbd-id"] == "359341"
    assert "hush" not in str(request.headers)


async def test_tokens_differ_from_post_to_post() -> None:
    net = Net()
    async with reading(net) as read:
        await read(f"p/{PICTURE}/")
        await read(f"p/{PICTURE}/")

    assert net.seen[0].headers["x-csrftoken"] != net.seen[1].headers["x-csrftoken"]


# --- what is second best ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [PICTURE, LONG_PICTURE])
async def test_post_without_a_video_costs_no_transcription_and_is_second_best(code: str) -> None:
    net = Net()
    async with reading(net) as read:
        page = await read(f"p/{code}/")

    assert net.hosts == ["www.instagram.com"]
    assert page.signals.second_best
    assert not page.signals.document
    assert "[image: Photo " in page.markdown


async def test_video_that_is_withheld_from_groq_leaves_the_caption_as_second_best() -> None:
    async with reading(Net()) as read:
        page = await read(f"p/{WITHHELD}/")

    assert page.signals.second_best
    assert page.markdown.endswith("The video has no transcript: media withheld from the transcriber.")


async def test_video_without_words_is_read_whole() -> None:
    async with reading(Net()) as read:
        page = await read(f"p/{SILENT}/")

    assert not page.signals.second_best
    assert page.markdown.endswith("Nothing is said in the video.")
    assert page.language is None


async def test_first_video_of_an_album_is_heard_and_the_others_are_counted() -> None:
    net = Net()
    async with reading(net) as read:
        page = await read(f"p/{ALBUM}/")

    assert net.hosts == ["www.instagram.com", "api.groq.com"]
    assert "[image: Photo of a thermocouple]" in page.markdown
    assert "Of 2 videos the first one is transcribed." in page.markdown


# --- shared addresses and the post's own page -------------------------------------------------------------------------


async def test_shared_address_is_followed_to_its_post_only() -> None:
    net = Net()
    async with reading(net) as read:
        page = await read(f"share/reel/{SHARED}")
        with pytest.raises(Unsupported):
            await read(f"share/{SHARED_USER}")
        with pytest.raises(Blocked):
            await read("share/BAnowhere")

    assert "Sample caption" in page.markdown
    assert (page.url, page.final_url) == (
        f"https://www.instagram.com/share/reel/{SHARED}",
        f"https://www.instagram.com/p/{REEL}/",
    )
    assert [str(request.url.path) for request in net.seen[:2]] == [f"/share/reel/{SHARED}/", "/api/graphql"]


async def test_shared_address_that_the_site_fails_on_is_its_failure() -> None:
    net = Net()
    net.site = lambda request: Answer(500)
    async with reading(net) as read:
        with pytest.raises(ProviderError) as caught:
            await read(f"share/reel/{SHARED}")

    assert caught.value.kind == "unavailable"


async def test_post_is_taken_from_its_own_page_where_the_query_is_retired() -> None:
    net = Net()
    async with reading(net) as read:
        page = await read(f"p/{RETIRED}/")

    assert "## Transcript (en)" in page.markdown
    assert [request.method for request in net.seen] == ["POST", "GET", "POST"]


@pytest.mark.parametrize(
    "page",
    [
        Answer(404),
        Answer(200, b"<html><title>Login</title></html>"),
        Answer(200, b'<script type="application/json" data-sjs>{"xig_polaris_media": broken</script>'),
        Answer(200, b'<script type="application/json" data-sjs>{"a": "xig_polaris_media"}</script>'),
        Answer(200, b'<script type="application/json" data-sjs>{"xig_polaris_media": 7}</script>'),
        Answer(302, headers=(("location", "/accounts/login/"),)),
    ],
)
async def test_query_that_is_retired_is_told_where_the_page_has_nothing_either(page: Answer) -> None:
    retired = Answer(200, b'{"errors": [{"message": "document not found"}]}', "application/json")
    net = Net()
    net.site = lambda request: retired if request.method == "POST" else page
    async with reading(net) as read:
        with pytest.raises(Malformed, match="query is retired"):
            await read(f"p/{REEL}/")


# --- refusals ---------------------------------------------------------------------------------------------------------


async def test_post_that_is_gone_or_gated_says_so() -> None:
    async with reading(Net()) as read:
        with pytest.raises(Empty, match="removed or private"):
            await read(f"p/{GONE}/")
        with pytest.raises(Unsupported, match="Age-restricted content"):
            await read(f"p/{GATED}/")


def as_body(value: Any) -> bytes:
    return json.dumps(value).encode()


WAIT = {
    "message": "Please wait a few minutes before you try again.", "require_login": True, "status": "fail",
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(302, headers=(("location", "https://www.instagram.com/accounts/login/?next=/p/x/"),)), Blocked),
        (Answer(302, headers=(("location", "/"),)), Blocked),
        (Answer(302, headers=(("location", "https://www.instagram.com"),)), Blocked),
        (Answer(302, headers=(("location", "/challenge/?x"),)), Blocked),
        (Answer(302, headers=(("location", "https://elsewhere.example/"),)), Malformed),
        (Answer(302, headers=(("location", "http://[broken"),)), Malformed),
        (Answer(200, b"<!DOCTYPE html><title>Login \xe2\x80\xa2 Instagram</title>"), Blocked),
        (Answer(401, as_body(WAIT)), Blocked),
        (Answer(200, as_body(WAIT)), Blocked),
        (Answer(400, as_body({"message": "Unauthorized logged out query", "code": 1675002})), Blocked),
        (Answer(400, as_body({"errors": [{"code": 1675004}]})), RateLimited),
        (Answer(200, as_body({"errors": [{"message": "Rate limit exceeded", "code": 1675004}]})), RateLimited),
        (Answer(200, as_body({"errors": [{"api_error_code": 4630001}], "data": None})), NotFound),
        (Answer(200, as_body({"error": 1357054, "errorSummary": "Sorry"})), Malformed),
        (Answer(429, b""), RateLimited),
        (Answer(200, as_body({"data": None})), Malformed),
        (Answer(200, as_body({"errors": "text"})), Malformed),
    ],
)
async def test_refusals_are_known_in_all_their_forms(answer: Answer, kind: type[ProviderError]) -> None:
    net = Net()
    net.site = lambda request: answer
    async with reading(net) as read:
        with pytest.raises(kind) as caught:
            await read(f"p/{REEL}/")

    assert type(caught.value) is kind
    assert "api.groq.com" not in net.hosts


async def test_rate_limit_by_number_has_a_time() -> None:
    net = Net()
    net.site = lambda request: Answer(200, as_body({"errors": [{"code": 1675004}]}))
    async with reading(net) as read:
        with pytest.raises(RateLimited) as caught:
            await read(f"p/{REEL}/")

    assert caught.value.retry_after == 600


async def test_guard_before_an_answer_is_skipped() -> None:
    net = Net()
    site = net.site
    net.site = lambda request: Answer(200, b"for (;;);" + site(request).body)
    async with reading(net) as read:
        assert "Sample caption" in (await read(f"p/{PICTURE}/")).markdown


async def test_account_of_groq_that_is_spent_is_not_the_posts_doing() -> None:
    net = Net()
    net.groq = lambda request: Answer(402, b"{}")
    async with reading(net) as read:
        with pytest.raises(QuotaSpent):
            await read(f"p/{REEL}/")


# --- the data ---------------------------------------------------------------------------------------------------------


def data(**changes: Any) -> dict[str, Any]:
    changed = copy.deepcopy(SAMPLE)
    changed["xig_polaris_media"]["if_not_gated_logged_out"] |= changes
    return changed


def track(**changes: Any) -> str | None:
    return parse_media(data(**changes), Post(REEL)).track


def mpd(inside: str, head: str = "<MPD>") -> str:
    return f"{head}<Period>{inside}</Period></MPD>"


VIDEO_URL = "https://scontent.cdninstagram.com/v.mp4"


def test_the_smallest_audio_track_is_chosen() -> None:
    tracks = "".join(
        f'<Representation bandwidth="{bits}"><BaseURL> https://x.example/{bits}.mp4 </BaseURL></Representation>'
        for bits in ("96000", "64000", "128000", "many")
    )
    by_group = mpd(f'<AdaptationSet contentType="audio">{tracks}</AdaptationSet>')
    by_type = mpd(f'<AdaptationSet mimeType="audio/mp4">{tracks}</AdaptationSet>')

    assert track(video_dash_manifest=by_group) == "https://x.example/64000.mp4"
    assert track(video_dash_manifest=by_type) == "https://x.example/64000.mp4"


@pytest.mark.parametrize("manifest", [None, "", "<broken", "no XML", mpd(""), 7])
def test_without_an_audio_track_the_video_itself_is_heard(manifest: Any) -> None:
    assert track(video_dash_manifest=manifest) == VIDEO_URL
    assert track(video_dash_manifest=manifest, has_audio=None) == VIDEO_URL
    assert track(video_dash_manifest=manifest, has_audio=False) is None


def test_entities_of_a_manifest_are_not_resolved() -> None:
    head = '<!DOCTYPE MPD [<!ENTITY e SYSTEM "file:///etc/hostname">]><MPD>'
    inside = (
        '<AdaptationSet contentType="audio"><Representation><BaseURL>&e;</BaseURL></Representation></AdaptationSet>'
    )

    assert track(video_dash_manifest=mpd(inside, head)) == VIDEO_URL


@pytest.mark.parametrize(
    ("duration", "seconds"), [("PT31.5S", 31.5), ("PT1H2M3S", 3723.0), ("PT2M", 120.0), ("P1D", 0.0), ("", 0.0)]
)
def test_length_is_that_of_the_manifest(duration: str, seconds: float) -> None:
    head = f'<MPD mediaPresentationDuration="{duration}">'
    track = '<AdaptationSet contentType="audio"><Representation><BaseURL>https://x.example/a</BaseURL>'
    manifest = mpd(f"{track}</Representation></AdaptationSet>", head)

    assert parse_media(data(video_dash_manifest=manifest), Post(REEL)).seconds == seconds


@pytest.mark.parametrize("kind", [2, "2", None])
def test_video_is_known_by_its_type_or_its_versions(kind: Any) -> None:
    assert parse_media(data(media_type=kind), Post(REEL)).videos == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "other"},
        {"caption": {"text": 7}},
        {"user": None},
        {"video_versions": [{"url": 7}], "video_dash_manifest": None},
    ],
)
def test_data_of_another_shape_is_no_post(changes: dict[str, Any]) -> None:
    with pytest.raises((Malformed, TypeError)):
        parse_media(data(**changes), Post(REEL))


def test_post_hidden_without_a_ruling_is_unsupported() -> None:
    hidden = {"xig_polaris_media": {"if_not_gated_logged_out": None}}

    with pytest.raises(Unsupported, match="not shown to everybody$"):
        parse_media(hidden, Post(REEL))


async def test_post_that_says_nothing_at_all_is_empty() -> None:
    net = Net()
    empty = data(caption=None, media_type=1, video_versions=None, video_dash_manifest=None)
    net.site = lambda request: Answer(200, as_body({"data": empty}))
    async with reading(net) as read:
        with pytest.raises(Empty):
            await read(f"p/{REEL}/")


async def test_caption_stays_literal() -> None:
    net = Net()
    net.site = lambda request: Answer(200, as_body({"data": data(caption={"text": "# not a title\n*stars* [x](y)"})}))
    async with reading(net) as read:
        page = await read(f"p/{REEL}/")

    assert "\\# not a title\n\\*stars\\* [x\\](y)" in page.markdown
