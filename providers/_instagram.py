"""Instagram's own interface, logged out, without a key: how a query is sent and how a refusal looks (yt-dlp,
instaloader, gallery-dl, read 2026-10; there is no documentation).

The ids of the queries rotate; a retired one is answered with `errors` and no data. Without the `Sec-Fetch-*` headers
the answer is a page and no JSON. `lsd` and `csrftoken` may be any text, the same in form, header and cookie.
Addresses of data centres meet the login wall often. The posts of another account, and most that is missing, are told
with status 200.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from providers._contract import Blocked, Malformed, NotFound, ProviderError, RateLimited, TooLarge
from providers._errors import translating
from providers._instagram_addresses import HOSTS, SITE
from providers._json import MAX_JSON_BYTES
from providers._wire import Rule, digest, raise_for_status

APP_ID = "936619743392459"
ASBD_ID = "359341"
LIMITED_SECONDS = 600.0
"""How long a rate limit without a time of its own is taken to last: the site counts over eleven minutes."""

RULES = (
    Rule(Blocked, status=401, detail="this address has to log in"),
    Rule(Blocked, status=403, detail="refused to this address"),
    Rule(Blocked, status=400, needle="1675002", detail="the query needs a login"),
    Rule(Blocked, status=400, needle="unauthorized logged out query", detail="the query needs a login"),
    Rule(RateLimited, status=400, needle="1675004", detail="rate limit", retry_after=LIMITED_SECONDS),
)

# Numbers in an answer's errors.
_CODES: dict[int, tuple[type[ProviderError], str]] = {
    1675002: (Blocked, "the query needs a login"),
    1675004: (RateLimited, "rate limit"),
    4630001: (NotFound, "no such post or profile"),
}
_GUARD = re.compile(rb"\s*for \(;;\);")
_WALLS = ("/accounts/login", "/challenge", "/consent")
_SCRIPT = re.compile(rb"<script\b([^<>]{0,500})>")
MAX_SCRIPTS = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """One of the site's stored queries: its name, and the id under which the site keeps it."""

    name: str
    id: str


async def question(
    client: httpx.AsyncClient,
    base: str,
    query: Question,
    variables: dict[str, Any],
    *,
    referer: str,
    parse: Callable[[Any], T],
) -> T:
    """What `parse` makes of the answer to a stored query; it gets the answer's `data`.

    Raises Blocked for every form of the login wall, RateLimited, NotFound where the site says so by number, Malformed
    for a query that is retired, and what `parse` raises.
    """
    token = secrets.token_urlsafe(8)
    form = {
        "av": "0", "__d": "www", "__user": "0", "__a": "1", "__comet_req": "7", "lsd": token,
        "fb_api_caller_class": "RelayModern", "fb_api_req_friendly_name": query.name, "server_timestamps": "true",
        "variables": json.dumps(variables, separators=(",", ":")), "doc_id": query.id,
    }  # fmt: skip
    headers = {
        "accept": "*/*", "x-ig-app-id": APP_ID, "x-asbd-id": ASBD_ID, "x-ig-www-claim": "0",
        "x-fb-friendly-name": query.name, "x-fb-lsd": token, "x-csrftoken": token, "cookie": f"csrftoken={token}",
        "x-requested-with": "XMLHttpRequest", "origin": SITE, "referer": referer, "sec-fetch-site": "same-origin",
        "sec-fetch-mode": "cors", "sec-fetch-dest": "empty",
    }  # fmt: skip
    response = await send(client, "POST", base.rstrip("/") + "/api/graphql", headers=headers, data=form)
    _refuse_redirect(response)
    raise_for_status(response, RULES)
    body = _GUARD.sub(b"", response.content, count=1)
    if body.lstrip()[:1] == b"<":
        raise Blocked("a page instead of an answer, which is how the login wall looks")
    return await digest(body, _DataFor(parse))


async def send(
    client: httpx.AsyncClient, method: str, url: str, *, headers: dict[str, str], data: dict[str, str] | None = None
) -> httpx.Response:
    """One request, answered with whatever status: redirects tell a wall from a share, and are not followed."""
    extensions = {"max_body_bytes": MAX_JSON_BYTES}
    try:
        with translating():
            return await client.request(method, url, headers=headers, data=data, extensions=extensions)
    except TooLarge as error:
        raise Malformed("answer too large") from error


async def open_page(client: httpx.AsyncClient, base: str, path: str) -> httpx.Response:
    """The site's answer to somebody who opens a page of it; its status is the caller's to judge."""
    headers = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    return await send(client, "GET", f"{base.rstrip('/')}/{path}", headers=headers)


def redirect_of(response: httpx.Response) -> str | None:
    """Where an answer points, as an address of the site's where it is relative; None where it points nowhere.

    Raises Blocked where that is a wall.
    """
    if not response.has_redirect_location:
        return None
    location = response.headers["location"]
    try:
        parts = urlsplit(location)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return location
    is_ours = not host or host in HOSTS
    if is_ours and (parts.path.rstrip("/") == "" or parts.path.startswith(_WALLS)):
        raise Blocked("login wall")
    return SITE + location if location.startswith("/") and not location.startswith("//") else location


def _refuse_redirect(response: httpx.Response) -> None:
    if redirect_of(response) is not None:
        # Followed, the form would go to wherever the answer points.
        raise Malformed(f"redirected with status {response.status_code}")


# --- answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _DataFor:
    """Takes the refusals off an answer before `parse` sees its data; an object, so that it can go to a worker."""

    parse: Callable[[Any], Any]

    def __call__(self, reply: Any) -> Any:
        error = refusal(reply)
        if error is not None:
            raise error
        return self.parse(reply["data"])


def refusal(reply: Any) -> ProviderError | None:
    """Why there is no answer in an answer; None where its data are to be looked at."""
    if reply.get("require_login") is True:
        return Blocked("this address has to log in")
    for code in _codes(reply):
        if code in _CODES:
            kind, detail = _CODES[code]
            return kind(detail, retry_after=LIMITED_SECONDS if kind is RateLimited else None)
    if reply.get("data") is not None:
        return None
    if reply.get("error") is not None:
        return Malformed("request refused")
    return Malformed("query is retired" if reply.get("errors") else "an answer without data")


def _codes(reply: dict[str, Any]) -> Iterator[int]:
    yield from _numbers(reply, "error", "error_code", "code")
    errors = reply.get("errors")
    for error in errors[:20] if isinstance(errors, list) else ():
        if isinstance(error, dict):
            yield from _numbers(error, "code", "api_error_code")


def _numbers(fields: dict[str, Any], *names: str) -> Iterator[int]:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            yield value


def data_in_page(body: bytes, root: str) -> dict[str, Any] | None:
    """The `data` with the field `root` that a page of the site's brings along in one of its scripts."""
    for script in _scripts(body):
        if root.encode() not in script:
            continue
        try:
            found = _with_field(json.loads(script), root)
        except (ValueError, RecursionError):
            continue
        if found is not None:
            return found
    return None


def _scripts(body: bytes) -> Iterator[bytes]:
    """The contents of the scripts that hold data. Linear in the length of the page."""
    place = 0
    for _ in range(MAX_SCRIPTS):
        tag = _SCRIPT.search(body, place)
        end = body.find(b"</script>", tag.end()) if tag is not None else -1
        if tag is None or end < 0:
            return
        if b"data-sjs" in tag[1] and b'type="application/json"' in tag[1]:
            yield body[tag.end() : end]
        place = end


def _with_field(value: Any, name: str) -> dict[str, Any] | None:
    """The first object, in breadth, that has a field of that name."""
    level = [value]
    while level:
        following: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                if name in each:
                    return each
                following += each.values()
            elif isinstance(each, list):
                following += each
        level = following
    return None
