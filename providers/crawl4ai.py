"""A Crawl4AI server of the operator's own. Reference: github.com/unclecode/crawl4ai (deploy/docker, 0.9.2, 2026-08).

`/md` keeps the site's status to itself, so pages are read with `/crawl`, which tells it. A real browser loads the page:
seconds, and gigabytes on its machine. Its own limits: 60 s a page, 40 pages at a time, 1,000 requests a minute for each
address. Since 0.9 any page that fails alone is a bare 500 with a correlation id; before, the reason stood in `detail`.
A PDF gives a success with no text. The server follows redirects by itself, out of our guard's sight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import Blocked, Denied, Empty, Malformed, Page, Signals, Target, Unsupported
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._status import told_site_error
from providers._wire import Rule, ask, digest

PAGE_TIMEOUT_MS = 20_000
PRUNING_THRESHOLD = 0.48

RULES = (
    Rule(Unsupported, status=400, needle="SSRF protection", detail="the server cannot or may not reach the site"),
    Rule(Denied, status=401, detail="CRAWL4AI_TOKEN refused"),
    Rule(Blocked, status=500, needle="anti-bot", detail="the server met a bot wall"),
    Rule(Unsupported, status=500, needle="correlation_id", detail="the server could not load the page"),
)


@register("crawl4ai")
@dataclass(frozen=True, slots=True)
class Crawl4ai:
    """Reads web pages with the operator's browser. `url` is the server's base."""

    token: str = field(repr=False)
    url: str = field(repr=False)

    def accepts(self, target: Target) -> bool:
        """All but what is known to be a PDF, of which the browser gets no text."""
        evidence = target.evidence
        return evidence is None or not (evidence.no_text_layer or evidence.content_type.startswith("application/pdf"))

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        response = await ask(
            client, "POST", self.url.rstrip("/") + "/crawl", json=_order(target.url),
            headers={"authorization": f"Bearer {self.token}"}, rules=RULES,
        )  # fmt: skip
        return await digest(response.content, _PageAt(target.url))


def _order(url: str) -> dict[str, Any]:
    """The body of a request. The filter counts only inside the generator; elsewhere it is dropped without a word."""
    content_filter = {"type": "PruningContentFilter", "params": {"threshold": PRUNING_THRESHOLD}}
    generator = {"type": "DefaultMarkdownGenerator", "params": {"content_filter": content_filter}}
    run = {"cache_mode": "bypass", "page_timeout": PAGE_TIMEOUT_MS, "markdown_generator": generator}
    return {
        "urls": [url],
        "browser_config": {"type": "BrowserConfig", "params": {"headless": True}},
        "crawler_config": {"type": "CrawlerRunConfig", "params": run},
    }


# --- the answer -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PageAt:
    """Reads the answer for `url`; an object and not a closure, so that it can be sent to a worker."""

    url: str

    def __call__(self, reply: Any) -> Page:
        return parse_page(reply, self.url)


def parse_page(reply: Any, url: str) -> Page:
    """The page of an answer. Raises what the site's own status stands for, and Empty without a text."""
    result = reply["results"][0]
    status = result.get("status_code")
    if status is not None and type(status) is not int:
        raise Malformed("the site's status is no number")
    _check_site(result, status)
    metadata = result.get("metadata") or {}
    address = result.get("redirected_url") or result.get("url")
    return Page(
        url=url,
        final_url=address if _is_web_address(address) else url,
        markdown=_markdown(result["markdown"]),
        title=title(metadata.get("title")),
        byline=title(metadata.get("author")),
        excerpt=snippet(metadata.get("description")),
        published=published(metadata.get("article:published_time")),
        signals=Signals(status=200 if status is None or 300 <= status < 400 else status),
    )


def _check_site(result: dict[str, Any], status: int | None) -> None:
    """The browser followed redirects: a status of one is that of the first answer and says nothing of the last."""
    if status is not None and not 300 <= status < 400 and (error := told_site_error(status)) is not None:
        raise error
    if result["success"] is not True:
        message = result.get("error_message")
        if isinstance(message, str) and "anti-bot" in message.lower():
            raise Blocked("the server met a bot wall")
        raise Unsupported("the server could not load the page")


def _markdown(found: dict[str, Any]) -> str:
    """The text without boilerplate; the whole one where the filter has left nothing of it."""
    for name in ("fit_markdown", "raw_markdown"):
        text = found.get(name) or ""
        if not isinstance(text, str):
            raise Malformed("content is no text")
        if text.strip():
            return text
    raise Empty("no content")


def _is_web_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)
