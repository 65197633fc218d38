"""From an HTTP status to the typed error: vendors' answers, sites' answers, Retry-After and bot-wall headers."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from providers._contract import (
    Blocked,
    Denied,
    Malformed,
    NotFound,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Unavailable,
    Unsupported,
)

# --- vendors --------------------------------------------------------------------------------------------------------

# As much of an error's body as is searched: the sentence that decides stands at its beginning.
_BODY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Rule:
    """One oddity of a vendor: an answer with this status, and all else that is given here, means that error.

    status: None stands for any status, 200 included. needle: a piece of the body, upper and lower case alike.
    field, value: a dotted path into the JSON body (`error.code`) and what must stand there, compared as text.
    header, value: a header, and what must stand in it. detail: what the report says; never anything out of the body.
    """

    error: type[ProviderError]
    status: int | None = None
    needle: str = ""
    field: str = ""
    header: str = ""
    value: str = ""
    detail: str = ""
    retry_after: float | None = None

    def matches(self, response: httpx.Response) -> bool:
        if self.status is not None and response.status_code != self.status:
            return False
        if self.header and response.headers.get(self.header) != self.value:
            return False
        start = response.content[:_BODY_BYTES]
        if self.needle and self.needle.encode().lower() not in start.lower():
            return False
        return not self.field or _at(start, self.field) == self.value


def _at(body: bytes, path: str) -> str | None:
    """The scalar at a dotted path, as text; None where there is none."""
    if f'"{path.partition(".")[0]}"'.encode() not in body:
        return None
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return str(value) if isinstance(value, str | int) else None


def raise_for_status(response: httpx.Response, rules: Iterable[Rule] = ()) -> None:
    """Raise the typed error that a vendor's answer stands for, or return where it is a success.

    The vendor's own `rules` go first. The body must have been read. No text of the answer gets into the error.
    """
    status = response.status_code
    for rule in rules:
        if rule.matches(response):
            raise rule.error(rule.detail or f"status {status}", retry_after=rule.retry_after)
    if 200 <= status < 300:
        return
    has_retry_after = "retry-after" in response.headers
    if status == 429 or (status == 503 and has_retry_after):
        raise RateLimited(f"status {status}", retry_after=retry_after(response.headers))
    if status == 402:
        raise QuotaSpent("status 402")
    if status in (401, 403):
        raise Denied(f"status {status}")
    if status == 408 or (status >= 500 and status not in (501, 505)):
        raise Unavailable(f"status {status}")
    if 300 <= status < 400:
        # Followed, it would carry our key to wherever the answer points.
        raise Malformed(f"redirected with status {status}")
    raise Malformed(f"status {status}")


# --- Retry-After ----------------------------------------------------------------------------------------------------

DEFAULT_RETRY_AFTER = 60.0
LEAST_RETRY_AFTER = 1.0
MOST_RETRY_AFTER = 24 * 3600.0

_SECONDS = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?")


def retry_after(headers: Mapping[str, str]) -> float:
    """How many seconds the remote wants to be left alone: 60 where it does not say so, at least 1, at most a day.

    A date is read against the answer's own `Date`, since the two clocks need not agree.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        # A float and not an int: ten thousand digits become infinity, where `int` refuses them.
        seconds = float(text)
    else:
        then = _timestamp(text)
        now = _timestamp(headers.get("date", ""))
        if then is None:
            return DEFAULT_RETRY_AFTER
        seconds = then - (time.time() if now is None else now)
    return min(max(seconds, LEAST_RETRY_AFTER), MOST_RETRY_AFTER)


def _timestamp(text: str) -> float | None:
    """An HTTP date in seconds since 1970, or None."""
    try:
        stamp = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError, OSError):
        return None
    return stamp if math.isfinite(stamp) else None


# --- sites ----------------------------------------------------------------------------------------------------------

_REFUSALS = frozenset({401, 403, 429, 451, 503})


def wall_of(status: int, headers: Mapping[str, str]) -> str | None:
    """The bot wall that an answer's headers declare, whatever its body; None where they declare none.

    Only headers that no good answer carries (is-antibot 2.5.0, documentation of Cloudflare, Vercel and AWS, read
    2026-09). `server: cloudflare`, `cf-ray`, `x-datadome: protected` and the walls' cookies are on good ones too.
    """
    if headers.get("cf-mitigated", "").lower() == "challenge":
        return "cloudflare"
    if headers.get("x-vercel-mitigated", "").lower() in ("challenge", "deny"):
        return "vercel"
    if headers.get("x-amzn-waf-action", "").lower() in ("challenge", "captcha"):
        return "aws-waf"
    if headers.get("x-dd-b", "") in ("1", "2") or "x-datadome-cid" in headers:
        return "datadome"
    if headers.get("x-datadome", "protected").lower() != "protected":
        return "datadome"
    if "x-kpsdk-ct" in headers and status == 429:
        return "kasada"
    return "linkedin" if status == 999 else None


def site_error(status: int, headers: Mapping[str, str]) -> ProviderError | None:
    """The error that a page's status and headers stand for; None where the body is to be looked at."""
    wall = wall_of(status, headers)
    if wall is not None:
        return Blocked(f"status {status}: {wall}")
    if 200 <= status < 300:
        return None
    if status in (404, 410):
        return NotFound(f"status {status}")
    if status in _REFUSALS:
        return Blocked(f"status {status}")
    if status in (408, 425) or status >= 500:
        return Unavailable(f"status {status}", retry=status not in (501, 505))
    return Unsupported(f"status {status}")


def told_site_error(status: int) -> ProviderError | None:
    """`site_error` for a site's status that a vendor tells of: a site in trouble is no failure of the vendor's."""
    error = site_error(status, {})
    return Unsupported(f"site: {error.detail}") if isinstance(error, Unavailable) else error
