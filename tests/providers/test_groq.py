"""How media are handed to Groq, and what its answers and refusals stand for (vendors/groq.md)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from providers._contract import (
    Denied,
    Malformed,
    ProviderError,
    QuotaSpent,
    RateLimited,
    TooLarge,
    Unavailable,
    Unsupported,
)
from providers._groq import URL, language_code, parse_speech, transcribe
from tests.fakenet import Request, payload
from tests.fakenet._groq import form_of

MEDIA = "https://scontent.cdninstagram.com/a.mp4?oh=00_AB&oe=6A1B2C3D"


async def ask(answer: httpx.Response, seen: list[httpx.Request] | None = None, media: str = MEDIA) -> Any:
    def handle(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        return answer

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
        return await transcribe(client, URL, "hush", media)


async def test_address_is_sent_in_a_multipart_form_without_a_file() -> None:
    seen: list[httpx.Request] = []

    speech = await ask(httpx.Response(200, content=payload("instagram", "transcription.json")), seen)

    request = seen[0]
    headers = tuple((name.lower(), value) for name, value in request.headers.items())
    form = form_of(Request("groq", "POST", "/", headers, request.content, 0.0))
    assert form == {
        "model": "whisper-large-v3-turbo", "url": MEDIA, "response_format": "verbose_json", "temperature": "0",
    }  # fmt: skip
    assert (str(request.url), request.headers["authorization"]) == (URL, "Bearer hush")
    assert request.extensions["remote"] == "groq"
    # The second segment is what Whisper makes of silence.
    assert (speech.text, speech.language) == ("[0:00] Hello and welcome.", "en")


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"message": "failed to retrieve media: received status code: 403"}, Unsupported),
        (400, {"message": "failed to retrieve media: received status code: 302"}, Unsupported),
        (400, {"message": "media file too large - size limit: 26214400", "code": "media_too_large"}, TooLarge),
        (400, {"message": "media file too large - size limit: 26214400 (actual 30000000)"}, TooLarge),
        (413, {"message": "Request Entity Too Large"}, TooLarge),
        (400, {"message": "file must be one of the following types: [flac mp3 mp4]"}, Unsupported),
        (422, {"message": "unprocessable"}, Unsupported),
        (400, {"message": "a parameter is wrong"}, Malformed),
        (401, {"message": "Invalid API Key", "code": "invalid_api_key"}, Denied),
        (402, {"message": "payment required"}, QuotaSpent),
        (403, {"message": "no permission"}, Denied),
        (404, {"message": "unknown model"}, Malformed),
        (424, {"message": "failed dependency"}, Unavailable),
        (429, {"message": "Rate limit reached"}, RateLimited),
        (498, {"message": "capacity exceeded"}, Unavailable),
        (499, {"message": "cancelled"}, Unavailable),
        (500, {"message": "oops"}, Unavailable),
        (503, {"message": "oops"}, Unavailable),
    ],
)
async def test_refusals_tell_the_media_from_the_account(
    status: int, error: dict[str, str], kind: type[ProviderError]
) -> None:
    with pytest.raises(kind) as caught:
        await ask(httpx.Response(status, json={"error": error | {"type": "invalid_request_error"}}))

    assert type(caught.value) is kind
    assert "hush" not in str(caught.value)
    assert "oe=" not in str(caught.value)


async def test_rate_limit_ends_when_the_vendor_says() -> None:
    with pytest.raises(RateLimited) as caught:
        await ask(httpx.Response(429, json={"error": {}}, headers={"retry-after": "17"}))

    assert caught.value.retry_after == 17


@pytest.mark.parametrize(
    "media",
    [
        "http://127.0.0.1/a.mp4",
        "https://10.0.0.8/a",
        "https://metadata/",
        "ftp://x.example/a",
        "https://u:p@x.example/",
    ],
)
async def test_address_that_is_not_public_is_told_to_nobody(media: str) -> None:
    seen: list[httpx.Request] = []

    with pytest.raises(Unsupported):
        await ask(httpx.Response(200), seen, media)

    assert seen == []


def test_answer_without_segments_gives_its_text() -> None:
    assert parse_speech({"text": " Hello. "}).text == "[0:00] Hello."
    assert parse_speech({"text": " "}).text == ""


@pytest.mark.parametrize(
    "wrong", [{}, {"text": 1}, {"text": "", "segments": [{}]}, {"text": "", "segments": [{"text": 1}]}]
)
async def test_answer_of_another_shape_is_malformed(wrong: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        await ask(httpx.Response(200, content=json.dumps(wrong).encode()))


def test_segments_are_dropped_only_where_both_figures_speak_for_silence() -> None:
    def heard(silence: Any, sureness: Any) -> str:
        segment = {"text": "Thank you.", "start": 61.5, "no_speech_prob": silence, "avg_logprob": sureness}
        return parse_speech({"text": "", "segments": [segment]}).text

    assert heard(0.9, -1.2) == ""
    assert heard(0.9, -0.5) == heard(0.1, -1.2) == heard(None, None) == "[1:01] Thank you."


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("English", "en"), ("Portuguese", "pt"), ("Haitian Creole", "ht"), ("Cantonese", "yue"), ("ru", "ru"),
        ("Klingon", None), ("", None), (None, None), (7, None),
    ],
)  # fmt: skip
def test_language_is_known_by_its_name_and_by_its_code(name: object, code: str | None) -> None:
    assert language_code(name) == code
