"""Groq's transcriptions as vendors/groq.md describes them."""

from __future__ import annotations

import re
from email import message_from_bytes
from typing import Any

from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._world import SENTENCES, World

MODELS = ("whisper-large-v3-turbo", "whisper-large-v3")
FORMATS = ("json", "text", "verbose_json")
WITHHELD, LONG, FOREIGN, SILENT = "withheld", "too-long", "no-media", "silent"
"""Pieces of a media's address: refused to Groq, over the limit of size, of another type, without a word."""


def failure(status: int, message: str, code: str = "", **headers: str) -> Answer:
    error = {"message": message, "type": "invalid_request_error"} | ({"code": code} if code else {})
    return as_json({"error": error}, status, *headers.items())


class Groq:
    """Handler of the endpoint. key: the one that is good, None for any. requests_left: before the rate limit."""

    def __init__(self, world: World) -> None:
        self.key: str | None = None
        self.requests_left = 1_000_000

    def __call__(self, request: Request) -> Answer:
        given = request.header("authorization") or ""
        if not given.startswith("Bearer ") or self.key not in (None, given.removeprefix("Bearer ")):
            return failure(401, "Invalid API Key", "invalid_api_key")
        if (request.method, request.path) != ("POST", "/openai/v1/audio/transcriptions"):
            return failure(404, f"Unknown request URL: {request.method} {request.path}", "unknown_url")
        if self.requests_left <= 0:
            return failure(429, "Rate limit reached", "rate_limit_exceeded", **{"retry-after": "17"})
        self.requests_left -= 1
        fields = form_of(request)
        return self._refused(fields) or as_json(self._heard(fields["url"]))

    def _refused(self, fields: dict[str, str] | None) -> Answer | None:
        if fields is None:
            return failure(400, "request Content-Type isn't multipart/form-data")
        if fields.get("model") not in MODELS or fields.get("response_format", "json") not in FORMATS:
            return failure(400, "a parameter is wrong")
        media = fields.get("url", "")
        if not media.startswith("https://"):
            return failure(400, "either url or file must be set")
        if WITHHELD in media:
            return failure(400, "failed to retrieve media: received status code: 403")
        if LONG in media:
            return failure(400, "media file too large - size limit: 26214400", "media_too_large")
        if FOREIGN in media:
            return failure(
                400, "file must be one of the following types: [flac mp3 mp4 mpeg mpga m4a ogg opus wav webm]"
            )
        return None

    def _heard(self, media: str) -> dict[str, Any]:
        if SILENT in media:
            lines = [(" Thank you.", 0.92, -1.3)]
        else:
            lines = [(f" {sentence.format(topic='a reel', number=1)}", 0.01, -0.21) for sentence in SENTENCES]
        segments = [
            {
                "id": place, "seek": 0, "start": place * 4.0, "end": place * 4.0 + 3.9, "text": text, "tokens": [50365],
                "temperature": 0, "avg_logprob": sureness, "compression_ratio": 1.3, "no_speech_prob": silence,
            }
            for place, (text, silence, sureness) in enumerate(lines)
        ]  # fmt: skip
        return {
            "task": "transcribe", "language": "English", "duration": 24.0, "text": "".join(text for text, *_ in lines),
            "segments": segments, "x_groq": {"id": "req_01abc"},
        }  # fmt: skip


def form_of(request: Request) -> dict[str, str] | None:
    """The plain parts of a multipart form; None for a body that is none, or has a file in it."""
    kind = request.header("content-type") or ""
    if not re.match(r"multipart/form-data; *boundary=", kind):
        return None
    message = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + request.body)
    found = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None:
            return None
        if isinstance(name, str):
            found[name] = part.get_payload(decode=True).decode()
    return found
