"""Fetching a page at an address that a caller gave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import httpx

from providers._address import MAX_REDIRECT_CHARS, InvalidUrl, NotAllowed, check_text, parse_url
from providers._contract import Document, Evidence, Progress, ProviderError, Reached, Refused, Unsupported
from providers._errors import translating
from providers._status import site_error, wall_of

MAX_REDIRECTS = 5
MAX_HEADERS = 200

_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

# What a browser would say, under our own name.
PAGE_HEADERS = {
    "user-agent": "Mozilla/5.0 (compatible; research-mcp/0.1)",
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "accept-language": "en;q=0.9,*;q=0.5",
    "accept-encoding": "gzip, deflate",
}


async def fetch_page(
    client: httpx.AsyncClient,
    url: str,
    *,
    max_body_bytes: int,
    headers: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Document:
    """Get the page at a caller's address: at most five redirects, each checked like the address itself.

    `headers` go over `PAGE_HEADERS` and come from our code, never from a caller; every hop gets the same fresh set,
    without cookies and referer. `max_body_bytes` caps the body on the wire and decoded. `progress` is told how far
    the fetch has got, for those who watch it: the `progress` of the target.

    Raises typed errors, each with the `Evidence` of how far the fetch got:
        Refused: an address on the way is not allowed (`address not allowed`), or the text is no address.
        NotFound, Blocked, Unavailable, Unsupported: by status, headers, or for want of a connection.
        TooLarge, Malformed: the body.
    """
    sent = {**PAGE_HEADERS, **(headers or {})}
    hop = _first_hop(url)
    seen = {str(hop)}
    downgraded = False
    for _ in range(MAX_REDIRECTS + 1):
        visit = _Visit(str(hop), progress or Progress())
        response = await visit.get(client, sent, max_body_bytes)
        if not response.has_redirect_location:
            return visit.document(url, response, downgraded)
        target = visit.redirect(hop, response.headers["location"])
        if str(target) in seen:
            raise Unsupported("redirect loop", evidence=visit.evidence)
        seen.add(str(target))
        downgraded = downgraded or (hop.scheme == "https" and target.scheme == "http")
        hop = target
    raise Unsupported("too many redirects", evidence=visit.evidence)


def _first_hop(url: str) -> httpx.URL:
    try:
        # The guard under the client knows whether private networks are open; here only the text is judged.
        return _without_fragment(parse_url(url, allow_private=True))
    except InvalidUrl as error:
        raise Refused("invalid url", evidence=Evidence(url)) from error
    except NotAllowed as error:
        raise Refused("address not allowed", evidence=Evidence(url)) from error


async def _send(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    """Send a request and return its answer, its body unread. Raises Refused for a location that nobody can read.

    httpx 0.28 makes the next request out of a redirect even where it is told to follow none.
    """
    try:
        return await client.send(request, stream=True)
    except httpx.InvalidURL as error:
        raise Refused("address not allowed") from error
    except httpx.RemoteProtocolError as error:
        if "location header" in str(error):
            raise Refused("address not allowed") from error
        raise


def _without_fragment(url: httpx.URL) -> httpx.URL:
    return url.copy_with(fragment=None) if url.fragment else url


class _Visit:
    """One hop of a fetch, and what it teaches about the site."""

    def __init__(self, url: str, progress: Progress) -> None:
        self.evidence = Evidence(url)
        self._progress = progress
        self._progress.reached = "nothing"

    async def get(self, client: httpx.AsyncClient, headers: dict[str, str], max_body_bytes: int) -> httpx.Response:
        """The answer with its body, or without where the body does not matter."""
        extensions = {"from_caller": True, "max_body_bytes": max_body_bytes, "trace": self._see}
        request = client.build_request("GET", self.evidence.url, headers=headers, extensions=extensions)
        try:
            with translating():
                response = await _send(client, request)
                try:
                    self._learn(response)
                    if not response.has_redirect_location:
                        await response.aread()
                finally:
                    await response.aclose()
        except ProviderError as error:
            error.evidence = self.evidence
            raise
        return response

    async def _see(self, step: str, info: object) -> None:
        """httpcore2 names the steps it takes; those of HTTP begin when the connection, TLS included, stands."""
        if step.startswith("http11.") and self.evidence.reached == "nothing":
            self._reach("connected")

    def _reach(self, reached: Reached) -> None:
        self.evidence = replace(self.evidence, reached=reached)
        self._progress.reached = reached

    def _learn(self, response: httpx.Response) -> None:
        status, headers = response.status_code, response.headers
        self._reach("answered")
        self.evidence = replace(
            self.evidence,
            status=status,
            content_type=headers.get("content-type", ""),
            wall=wall_of(status, headers),
        )
        error = site_error(status, headers)
        if error is not None and not response.has_redirect_location:
            raise error

    def redirect(self, hop: httpx.URL, location: str) -> httpx.URL:
        """Where an answer points, held against all rules. Raises Refused."""
        try:
            text = location if _ABSOLUTE.match(location) else _joined(hop, location)
            return _without_fragment(parse_url(text, allow_private=True, limit=MAX_REDIRECT_CHARS))
        except (InvalidUrl, NotAllowed, httpx.InvalidURL) as error:
            raise Refused("address not allowed", evidence=self.evidence) from error

    def document(self, url: str, response: httpx.Response, downgraded: bool) -> Document:
        headers = tuple((name.lower(), value) for name, value in response.headers.multi_items()[:MAX_HEADERS])
        document = Document(
            url=url,
            final_url=self.evidence.url,
            body=response.content,
            content_type=self.evidence.content_type,
            status=response.status_code,
            headers=headers,
            downgraded=downgraded,
        )
        keep_body = response.extensions.get("keep_body")
        if keep_body is not None:
            keep_body(document, len(document.body))
        return document


def _joined(hop: httpx.URL, location: str) -> str:
    """A reference without a scheme, made whole; the result is judged as text like any other address."""
    if location.startswith("//"):
        return f"{hop.scheme}:{location}"
    # Joining encodes what the rules on text would refuse.
    check_text(location, limit=MAX_REDIRECT_CHARS)
    return str(hop.join(location))
