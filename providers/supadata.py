"""Supadata: transcripts of videos. Reference: https://docs.supadata.ai/get-transcript (read 2026-06).

`mode=native` takes existing captions only, one credit each; the vendor's default would start a paid recognition. A
video without captions costs a credit too and comes as 206 with an error in it. A long job comes as 202 and is asked for
about once a second, which costs nothing. The answer has no title, and does not tell whether its language is the spoken
one. Of all the sites it knows only YouTube's videos are taken: elsewhere captions are rare, and pages do have a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import trio

from providers._contract import (
    Denied,
    Empty,
    Malformed,
    Page,
    ProviderError,
    QuotaSpent,
    Signals,
    Target,
    Unavailable,
    Unsupported,
)
from providers._registry import register
from providers._videos import Cue, transcript, video_id, watch_url
from providers._wire import Rule, ask, digest

POLL_INTERVAL = 1.0

_NAMES: tuple[tuple[str, type[ProviderError], str], ...] = (
    ("transcript-unavailable", Empty, "no transcript"),
    ("invalid-request", Malformed, "a parameter was refused"),
    ("unauthorized", Denied, "key refused"),
    ("upgrade-required", Denied, "the plan lacks this feature"),
    ("forbidden", Unsupported, "video needs a login or is restricted"),
    ("not-found", Empty, "video is missing or private"),
    ("internal-error", Unavailable, "the vendor failed"),
)
RULES = (
    *(
        Rule(QuotaSpent, field="error", value="limit-exceeded", needle=needle, detail="credits used up")
        for needle in ("credit", "monthly", "quota")
    ),
    *(Rule(error, field="error", value=name, detail=detail) for name, error, detail in _NAMES),
)

_JOB = re.compile(r"[A-Za-z0-9_-]{1,100}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")


@register("supadata")
@dataclass(frozen=True, slots=True)
class Supadata:
    """Reads the captions of YouTube's videos."""

    key: str = field(repr=False)
    url: str = field(default="https://api.supadata.ai/v1/transcript", repr=False)

    def accepts(self, target: Target) -> bool:
        return video_id(target.url) is not None

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        video = video_id(target.url)
        if video is None:
            raise Unsupported("no video")
        params = {"url": watch_url(video), "mode": "native", "text": "false"}
        response = await ask(client, "GET", self.url, params=params, headers=self._headers(), rules=RULES)
        if response.status_code == 202:
            job = await digest(response.content, parse_job)
            return await self._finished(job, target.url, client)
        return await digest(response.content, _PageAt(target.url))

    async def _finished(self, job: str, url: str, client: httpx.AsyncClient) -> Page:
        """The page of a job, once it is done; the caller's deadline ends the waiting."""
        address = f"{self.url}/{quote(job, safe='')}"
        while True:
            await trio.sleep(POLL_INTERVAL)
            response = await ask(client, "GET", address, headers=self._headers(), rules=RULES)
            page = await digest(response.content, _FinishedAt(url))
            if page is not None:
                return page

    def _headers(self) -> dict[str, str]:
        return {"x-api-key": self.key, "accept": "application/json"}


# --- the answers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PageAt:
    """Reads the transcript of `url`; an object and not a closure, so that it can be sent to a worker."""

    url: str

    def __call__(self, reply: Any) -> Page:
        return parse_page(reply, self.url)


@dataclass(frozen=True, slots=True)
class _FinishedAt:
    """Reads the state of a job for `url`, in the same way."""

    url: str

    def __call__(self, reply: Any) -> Page | None:
        return parse_state(reply, self.url)


def parse_job(reply: Any) -> str:
    """The id of a job that was begun."""
    job = reply["jobId"]
    if not isinstance(job, str) or not _JOB.fullmatch(job):
        raise Malformed("id of a job is none")
    return job


def parse_state(reply: Any, url: str) -> Page | None:
    """The page of a job that is completed, None for one under way. Raises what a failed one failed with."""
    status = reply["status"]
    if status in ("queued", "active"):
        return None
    if status == "failed":
        error = reply.get("error")
        name = error.get("error") if isinstance(error, dict) else error
        known = {each: (kind, detail) for each, kind, detail in _NAMES if each == name}
        kind, detail = known.get(str(name), (Unavailable, "the vendor failed"))
        raise kind(detail)
    if status != "completed":
        raise Malformed("state of a job is not known")
    # The schema has the result beside the state, a passage of the documentation has it in an object.
    result = reply.get("result")
    return parse_page(result if isinstance(result, dict) else reply, url)


def parse_page(reply: Any, url: str) -> Page:
    """The page of a transcript. Raises Empty where nothing was said."""
    content = reply["content"]
    if isinstance(content, str):
        text = transcript([Cue(0, content)])
    elif isinstance(content, list):
        text = transcript([_cue(chunk) for chunk in content])
    else:
        raise Malformed("transcript is no text")
    if not text:
        raise Empty("no speech")
    language = reply.get("lang")
    language = language if isinstance(language, str) and _LANGUAGE.fullmatch(language) else None
    heading = f"## Transcript ({language})" if language else "## Transcript"
    return Page(
        url=url,
        final_url=url,
        markdown=f"{heading}\n\n{text}",
        site_name="YouTube",
        language=language,
        signals=Signals(document=True),
    )


def _cue(chunk: dict[str, Any]) -> Cue:
    start, text = chunk.get("offset", 0), chunk["text"]
    if not isinstance(text, str) or isinstance(start, bool) or not isinstance(start, int | float):
        raise Malformed("a piece of the transcript is none")
    return Cue(start, text)
