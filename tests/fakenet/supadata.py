"""Supadata's transcripts as vendors/supadata.md describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import SENTENCES, World

MODES = ("native", "generate", "auto")
SILENT, SLOW = "aaaaaaaaaaa", "bbbbbbbbbbb"
"""Ids of a video without captions, and of one that becomes a job."""


def failure(status: int, error: str, details: str = "") -> Answer:
    documentation = f"https://docs.supadata.ai/errors/{error}"
    return as_json({"error": error, "message": error, "details": details, "documentationUrl": documentation}, status)


class Supadata:
    """Handler of transcripts, jobs and `/v1/me`. key: the one that is good, None for any. credits: what is left."""

    def __init__(self, world: World) -> None:
        self.key: str | None = None
        self.credits = 1_000_000
        self._polls = 0

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-api-key")
        if given is None or self.key not in (None, given):
            return failure(401, "unauthorized")
        if request.method != "GET" or not request.path.startswith("/v1/"):
            return failure(404, "not-found")
        if request.path == "/v1/me":
            return as_json({"organizationId": "o", "plan": "p", "maxCredits": 100, "usedCredits": 1})
        if request.path.startswith("/v1/transcript/"):
            return self._job()
        return self._transcript(request.query)

    def _transcript(self, query: Mapping[str, str]) -> Answer:
        wrong = (
            not query.get("url", "").startswith("https://")
            or query.get("mode", "auto") not in MODES
            or query.get("text", "false") not in ("true", "false")
            or query.get("lang") == "auto"
        )
        if wrong:
            return failure(400, "invalid-request")
        if self.credits <= 0:
            return failure(429, "limit-exceeded", "Your monthly credits are used up")
        self.credits -= 1
        if query["url"].endswith(SILENT):
            return failure(206, "transcript-unavailable", "No transcript is available for this video")
        if query["url"].endswith(SLOW):
            return as_json({"jobId": "123e4567-e89b-12d3-a456-426614174000"}, 202)
        return as_json(spoken("a talk", is_text=query.get("text") == "true"))

    def _job(self) -> Answer:
        self._polls += 1
        if self._polls == 1:
            return as_json({"status": "queued"})
        return as_json({"status": "completed"} | spoken("a long talk", is_text=False))


def spoken(topic: str, *, is_text: bool) -> dict[str, Any]:
    lines = [sentence.format(topic=topic, number=1) for sentence in SENTENCES]
    chunks = [
        {"text": line, "offset": place * 4000, "duration": 4200, "lang": "en"} for place, line in enumerate(lines)
    ]
    return {"lang": "en", "availableLangs": ["en", "de"], "content": " ".join(lines) if is_text else chunks}


REMOTES = {"supadata": Supadata}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("supadata")(key=canary, url=urls["supadata"] + "/v1/transcript")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"SUPADATA_API_KEY": key, "SUPADATA_BASE_URL": urls["supadata"]}


CASES = (
    Case(Role.READ, "supadata", lambda urls: Target("https://www.youtube.com/watch?v=dQw4w9WgXcQ"), good="read.json"),
)
