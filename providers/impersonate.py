"""The local reader once more, as a browser: for sites that have refused the first fetch.

Its row has the impersonating transport, so the same fetch goes out with a browser's TLS, HTTP/2 and headers, and the
extraction is the local one. No vendor, no key. It asks nobody who has not answered, and runs no script: a challenge
that wants to be solved is met again (vendors/browser-impersonation.md, 2026-08).
"""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from ._contract import Page, Target
from ._local import read_locally
from ._registry import register

REFUSALS = frozenset({401, 403, 429, 451, 503})


@register("impersonate")
@dataclass(frozen=True, slots=True)
class Impersonate:
    """Repeats a refused fetch."""

    max_body_bytes: int = 15_000_000

    def accepts(self, target: Target) -> bool:
        """Where a direct fetch has ended with the site's refusal, by status or by a wall."""
        seen = target.evidence
        return seen is not None and seen.reached == "answered" and (seen.status in REFUSALS or seen.wall is not None)

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        """Fetch and extract. Whatever is raised carries the evidence of how far the fetch got."""
        return await read_locally(target, client, max_body_bytes=self.max_body_bytes)
