"""The local reader: fetches an address once, through the guard, and reads whatever is there.

HTML goes to trafilatura and to the reader beside it, documents to their own libraries, all of it in worker processes
(`_extract`). No remote vendor, no key, no quota. Limits: 15 MB a body (on the wire and decoded), 10 s and 1 GiB for
the extraction, 2,000,000 characters of text. It also answers whether a site's robots.txt lets a robot read an address.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from . import _workers
from ._contract import Page, ProviderError, Refused, RobotsQuery, Target, TooLarge
from ._local import read_locally
from ._registry import register
from ._robots import MAX_BYTES, is_allowed
from ._wire import fetch_page

ROBOTS_AGENT = "research-mcp"
"""Our product token in a robots.txt."""

_INLINE_ROBOTS_BYTES = 20_000


@register("trafilatura")
@dataclass(frozen=True, slots=True)
class Trafilatura:
    """Reads any http or https address directly."""

    max_body_bytes: int = 15_000_000

    def accepts(self, target: Target) -> bool:
        """Every web address whose body is not there already: nobody is asked twice for the same bytes."""
        is_web = target.url[:8].lower().startswith(("http://", "https://"))
        return is_web and (target.evidence is None or target.evidence.body is None)

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        """Fetch and extract. Whatever is raised carries the evidence of how far the fetch got."""
        return await read_locally(target, client, max_body_bytes=self.max_body_bytes)

    async def robots(self, query: RobotsQuery, client: httpx.AsyncClient) -> bool:
        """May a robot fetch the address? A site without robots.txt (4xx) allows all, one that fails (5xx) nothing.

        A site that cannot be reached allows nothing either (RFC 9309, 2.3.1.4). Raises Refused for an address that
        is not allowed.
        """
        try:
            document = await fetch_page(client, _robots_address(query.url), max_body_bytes=4 * MAX_BYTES)
        except (Refused, TooLarge):
            raise
        except ProviderError as error:
            status = error.evidence.status if error.evidence is not None else None
            return status is not None and 400 <= status < 500
        if len(document.body) <= _INLINE_ROBOTS_BYTES:
            return is_allowed(document.body, query.url, ROBOTS_AGENT)
        return await _workers.run(is_allowed, document.body, query.url, ROBOTS_AGENT)


def _robots_address(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/robots.txt"
