"""What the supadata type sends, and what it makes of transcripts, jobs and errors."""

from __future__ import annotations

import httpx
import pytest
import respx

from providers._contract import Denied, Empty, Malformed, QuotaSpent, RateLimited, Target, Unavailable, Unsupported
from providers._registry import lookup
from tests.fakenet import payload

TRANSCRIPT = "https://api.supadata.ai/v1/transcript"
VIDEO = Target("https://youtu.be/dQw4w9WgXcQ?t=10")


@pytest.fixture
def supadata():
    return lookup("supadata")(key="sd-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def failure(status: int, error: str, details: str = "x") -> httpx.Response:
    return httpx.Response(status, json={"error": error, "message": error, "details": details})


async def test_captions_are_asked_for_and_never_a_recognition(supadata, router, client):
    route = router.get(TRANSCRIPT).mock(return_value=httpx.Response(200, content=payload("supadata", "read.json")))

    page = await supadata.read(VIDEO, client)

    sent = route.calls.last.request
    assert sent.headers["x-api-key"] == "sd-k"
    assert dict(sent.url.params) == {
        "url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "mode": "native", "text": "false",
    }  # fmt: skip
    assert page.markdown == "## Transcript (en)\n\n[0:00] Hello world second line"
    assert (page.url, page.language, page.signals.document) == (VIDEO.url, "en", True)


async def test_transcript_in_one_text_is_taken_too(supadata, router, client):
    router.get(TRANSCRIPT).mock(return_value=httpx.Response(200, json={"content": "All of it.", "lang": 7}))

    page = await supadata.read(VIDEO, client)

    assert (page.markdown, page.language) == ("## Transcript\n\n[0:00] All of it.", None)


@pytest.mark.parametrize("is_nested", [False, True])
async def test_job_is_asked_for_until_it_is_done(supadata, router, client, autojump_clock, is_nested):
    result = {"content": [{"text": "Hello", "offset": 0}], "lang": "en"}
    router.get(TRANSCRIPT).mock(return_value=httpx.Response(202, json={"jobId": "123e4567-e89b"}))
    states = [{"status": "queued"}, {"status": "active"}]
    states.append({"status": "completed"} | ({"result": result} if is_nested else result))
    polls = router.get(f"{TRANSCRIPT}/123e4567-e89b").mock(
        side_effect=[httpx.Response(200, json=state) for state in states]
    )

    page = await supadata.read(VIDEO, client)

    assert page.markdown == "## Transcript (en)\n\n[0:00] Hello"
    assert polls.call_count == 3


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ({"status": "failed", "error": {"error": "transcript-unavailable"}}, Empty),
        ({"status": "failed", "error": {"error": "forbidden"}}, Unsupported),
        ({"status": "failed", "error": {"error": "internal-error"}}, Unavailable),
        ({"status": "failed", "error": {"error": "else"}}, Unavailable),
        ({"status": "failed"}, Unavailable),
        ({"status": "lost"}, Malformed),
        ({"status": "completed", "content": None}, Malformed),
    ],
)
async def test_failed_job_gives_the_kind_of_its_error(supadata, router, client, autojump_clock, state, error):
    router.get(TRANSCRIPT).mock(return_value=httpx.Response(202, json={"jobId": "j"}))
    router.get(f"{TRANSCRIPT}/j").mock(return_value=httpx.Response(200, json=state))

    with pytest.raises(error):
        await supadata.read(VIDEO, client)


@pytest.mark.parametrize("job", ["../me", "", 7, "a b"])
async def test_job_whose_id_could_lead_elsewhere_is_not_asked_for(supadata, router, client, job):
    router.get(TRANSCRIPT).mock(return_value=httpx.Response(202, json={"jobId": job}))

    with pytest.raises(Malformed):
        await supadata.read(VIDEO, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(206, "transcript-unavailable"), Empty),
        (failure(400, "invalid-request"), Malformed),
        (failure(401, "unauthorized"), Denied),
        (failure(402, "upgrade-required"), Denied),
        (failure(403, "forbidden"), Unsupported),
        (failure(404, "not-found"), Empty),
        (failure(429, "limit-exceeded", "Too many requests per second"), RateLimited),
        (failure(429, "limit-exceeded", "Monthly credits used up"), QuotaSpent),
        (failure(500, "internal-error"), Unavailable),
        (httpx.Response(200, json={"content": [], "lang": "en"}), Empty),
        (httpx.Response(200, json={"content": [{"text": "  "}]}), Empty),
        (httpx.Response(200, json={"content": [{"text": 7}]}), Malformed),
        (httpx.Response(200, json={"content": {}}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(supadata, router, client, answer, error):
    router.get(TRANSCRIPT).mock(return_value=answer)

    with pytest.raises(error):
        await supadata.read(VIDEO, client)


async def test_only_videos_are_accepted(supadata, client):
    other = Target("https://www.tiktok.com/@a/video/1")

    assert supadata.accepts(VIDEO)
    assert not supadata.accepts(other)
    with pytest.raises(Unsupported):
        await supadata.read(other, client)
