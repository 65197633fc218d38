"""Bright Data's Web Unlocker. Reference: https://docs.brightdata.com/api-reference/rest-api/unlocker (read 2026-08).

Needs a key and a zone of the account. Once a request has reached the unlocker the outer status is always 200: what
became of it stands in headers, the site's status in `x-brd-status-code` and the unlocker's own failures in
`x-brd-error-code`, with no body. One credit a page, premium sites more; failures are free as long as no headers of ours
go with the request. A page takes 4 to 20 s. The final address is not told. What it makes of a PDF is undocumented: one
that comes through is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import httpx

from providers._contract import (
    Blocked,
    Denied,
    Document,
    Empty,
    Malformed,
    Page,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Signals,
    Target,
    Unavailable,
    Unsupported,
)
from providers._extract import extract
from providers._registry import register
from providers._status import retry_after, told_site_error
from providers._wire import Rule, ask

MAX_PAGE_BYTES = 10_000_000
PDF_SEARCH_BYTES = 1024

RULES = (
    *(
        Rule(QuotaSpent, status=status, needle=needle, detail="account without funds")
        for status in (400, 401, 403)
        for needle in ("not active", "balance")
    ),
    Rule(Denied, status=400, needle="zone", detail="BRIGHTDATA_ZONE is no zone of the account"),
    Rule(Denied, status=407, detail="key and zone do not belong together"),
)

# What a code of the unlocker or of its proxy begins with, and what it means; the first that fits.
CODES: tuple[tuple[str, type[ProviderError], str], ...] = (
    ("client_10020", QuotaSpent, "account suspended"),
    ("client_10000", Denied, "key and zone do not belong together"),
    ("policy_20000", Unsupported, "the vendor's policy forbids the site"),
    ("policy_20050", Unsupported, "the vendor's policy forbids the site"),
    ("policy_20051", Unsupported, "the vendor's policy forbids the site"),
    ("ub_bad_endpoint_robots", Unsupported, "robots.txt of the site forbids it to this account"),
    ("premium", Unsupported, "the zone lacks premium sites"),
    ("feature_not_active", Unsupported, "the zone lacks a feature the site needs"),
    ("sr_rate_limit", RateLimited, "too many failures at this site"),
    ("reject_block", Blocked, "the site could not be unlocked"),
    ("captcha", Blocked, "a captcha was not solved"),
    ("resolve_failed", Unsupported, "the site could not be unlocked"),
    ("http_status", Unsupported, "the site could not be unlocked"),
    ("proxy_timeout", Unsupported, "the site could not be unlocked"),
    ("expect_element", Unsupported, "the page did not load"),
    ("domcontentloaded", Unsupported, "the page did not load"),
    ("document_load_failed", Unsupported, "the page did not load"),
    ("net_err_cert", Unsupported, "certificate of the site is wrong"),
    ("dns", Unsupported, "name of the site does not resolve"),
)


@register("brightdata")
@dataclass(frozen=True, slots=True)
class Brightdata:
    """Reads pages through a zone of the account."""

    key: str = field(repr=False)
    zone: str
    url: str = field(default="https://api.brightdata.com/request", repr=False)

    def accepts(self, target: Target) -> bool:
        return True

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        order = {"zone": self.zone, "url": target.url, "format": "raw", "data_format": "markdown"}
        response = await ask(
            client, "POST", self.url, json=order, headers={"authorization": f"Bearer {self.key}"}, rules=RULES,
            max_body_bytes=MAX_PAGE_BYTES,
        )  # fmt: skip
        status = check_outcome(response.headers)
        return await _page(target.url, response, status)


def check_outcome(headers: Mapping[str, str]) -> int | None:
    """The site's status, None where it is not told. Raises what became of the page where that is no success."""
    text = headers.get("x-brd-status-code", "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) == 3):
        raise Malformed("the site's status is no number")
    status = int(text) if text else None
    code = headers.get("x-brd-error-code") or headers.get("x-brd-err-code")
    if code or "x-brd-error" in headers:
        raise _own_failure(code or "", status, headers)
    if status is not None and (error := told_site_error(status)) is not None:
        raise error
    return status


def _own_failure(code: str, status: int | None, headers: Mapping[str, str]) -> ProviderError:
    """The error for a failure of the vendor's, by its code, or by the status where the code is not known."""
    for start, error, detail in CODES:
        if code.lower().startswith(start):
            wait = retry_after(headers) if error is RateLimited else None
            return error(detail, retry_after=wait)
    match status:
        case 402:
            return QuotaSpent("account without funds")
        case 401 | 407:
            return Denied("key or zone refused")
        case 429:
            return RateLimited("too many requests", retry_after=retry_after(headers))
        case 400 | 403:
            return Unsupported(f"the vendor refused the page with status {status}")
    return Unavailable("the vendor could not read the page")


async def _page(url: str, response: httpx.Response, status: int | None) -> Page:
    """The page of an answer: Markdown, or a PDF or HTML that came through as it is."""
    body = response.content
    content_type = response.headers.get("content-type", "")
    start = body[:PDF_SEARCH_BYTES].lstrip()
    is_html = start[:9].lower().startswith((b"<!doctype", b"<html"))
    if status is None and (is_html or content_type.startswith("application/json")):
        raise Malformed("no answer of the unlocker")
    if b"%PDF-" in start or is_html:
        kind = "text/html" if is_html else "application/pdf"
        page = await extract(Document(url, url, body, kind))
        return replace(page, signals=replace(page.signals, status=status or 200))
    markdown = body.decode("utf-8", "replace")
    if not markdown.strip():
        raise Empty("no content")
    return Page(url=url, final_url=url, markdown=markdown, signals=Signals(status=status or 200))
