"""Jina's reader, search and reranker. References: https://r.jina.ai/docs, https://jina.ai/reranker (read 2026-08).

The reader works without a key, 20 pages a minute for each address; with one a read is billed by its output tokens and
`X-Token-Budget` refuses what would cost more. A page the site refused comes as a success with a warning. A search needs
the key, costs 10,000 tokens per started 10 results, takes no date, and says "nothing found" with status 422. The
reranker bills what it reads. Errors name themselves in `name`; the reranker's have no such field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Found,
    Hit,
    Malformed,
    Page,
    Query,
    QuotaSpent,
    Ranking,
    Signals,
    Target,
    TooLarge,
    Unsupported,
)
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._status import told_site_error
from providers._wire import Rule, ask, digest

RERANK_MODEL = "jina-reranker-v3.5"
MOST_DOCUMENTS = 100
MAX_DOCUMENT_CHARS = 1_000
# The first ten results are one price; a number beyond 20 is refused.
DEFAULT_RESULTS, MAX_RESULTS = 10, 20
MAX_PAGE_BYTES = 5_000_000

_ACCOUNT = (
    Rule(Denied, field="name", value="TierFeatureConstraintError", detail="the plan lacks this feature"),
    Rule(QuotaSpent, field="name", value="InsufficientBalanceError", detail="balance used up"),
    Rule(Denied, field="name", value="AuthenticationRequiredError", detail="a key is needed"),
    Rule(Denied, field="name", value="AuthenticationFailedError", detail="key refused"),
    Rule(Malformed, field="name", value="ParamValidationError", detail="a parameter was refused"),
)
READ_RULES = (
    *_ACCOUNT,
    Rule(TooLarge, field="name", value="BudgetExceededError", detail="costs more than JINA_TOKEN_BUDGET"),
    Rule(TooLarge, field="name", value="TargetFileTooLargeError", detail="file too large for the reader"),
    Rule(Empty, field="name", value="AssertionFailureError", detail="not fetched, or without content"),
    Rule(Unsupported, field="name", value="SecurityCompromiseError", detail="site closed to reading without a key"),
    Rule(Unsupported, field="name", value="OperationNotAllowedError", detail="page refused after many failures"),
)
SEARCH_RULES = (
    *_ACCOUNT,
    Rule(Empty, needle="No search results available", field="name", value="AssertionFailureError"),
)
RERANK_RULES = (Rule(QuotaSpent, status=403, needle="balance", detail="balance used up"),)

# Its closed list of languages is Google's: what is not on it is refused with 400.
LANGUAGES = (
    "af am ar az be bg bn bs ca cs da de el en es et eu fa fi fr gl gu hi hr hu hy id is it iw ja ka kk km kn ko ky lo "
    "lt lv mk ml mn mr ms my ne nl no pa pl pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi zu"
)
NAMED_LANGUAGES = MappingProxyType(
    {
        "pt-br": "pt-br", "pt-pt": "pt-pt", "zh": "zh-cn", "zh-cn": "zh-cn", "zh-sg": "zh-cn", "zh-hans": "zh-cn",
        "zh-tw": "zh-tw", "zh-hk": "zh-tw", "zh-hant": "zh-tw", "he": "iw", "nb": "no", "nn": "no", "fil": "tl",
    }
)  # fmt: skip


@register("jina")
@dataclass(frozen=True, slots=True)
class Jina:
    """All three services with one key; without it only the reader answers. `token_budget` caps what one read costs."""

    key: str | None = field(default=None, repr=False)
    reader_url: str = field(default="https://r.jina.ai/", repr=False)
    search_url: str = field(default="https://s.jina.ai/", repr=False)
    rerank_url: str = field(default="https://api.jina.ai/v1/rerank", repr=False)
    token_budget: int | None = None

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        fields, detail = _fields(query)
        headers = self._headers() | {"x-respond-with": "no-content"}
        try:
            response = await ask(client, "POST", self.search_url, json=fields, headers=headers, rules=SEARCH_RULES)
        except Empty:
            return Found((), detail)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], detail)

    def accepts(self, target: Target) -> bool:
        """Everything, but a PDF that was found to have no text layer only with a key and where its address says PDF."""
        if target.evidence is None or not target.evidence.no_text_layer:
            return True
        return self.key is not None and urlsplit(target.url).path.lower().endswith(".pdf")

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        headers = self._headers()
        if self.key is not None and self.token_budget is not None:
            headers["x-token-budget"] = str(self.token_budget)
        # POST, since proxies on the way fold the `//` of an address that stands in a path.
        response = await ask(
            client, "POST", self.reader_url, json={"url": target.url}, headers=headers, rules=READ_RULES,
            max_body_bytes=MAX_PAGE_BYTES,
        )  # fmt: skip
        page = await digest(response.content, parse_page)
        return page if page.url else _at(page, target.url)

    async def rerank(self, ranking: Ranking, client: httpx.AsyncClient) -> tuple[int, ...]:
        """The order of all documents. What was not sent, being empty or one too many, keeps its place at the end."""
        sent = [place for place, text in enumerate(ranking.documents) if text.strip()][:MOST_DOCUMENTS]
        if not sent:
            return tuple(range(len(ranking.documents)))
        body = {
            "model": RERANK_MODEL,
            "query": ranking.text,
            "documents": [ranking.documents[place][:MAX_DOCUMENT_CHARS] for place in sent],
            "top_n": len(sent),
            "return_documents": False,
        }
        headers = self._headers()
        response = await ask(client, "POST", self.rerank_url, json=body, headers=headers, rules=RERANK_RULES)
        order = await digest(response.content, parse_order)
        if sorted(order) != list(range(len(sent))):
            raise Malformed("ranking is not one of all documents")
        ranked = [sent[place] for place in order]
        rest = sorted(set(range(len(ranking.documents))) - set(sent))
        return (*ranked, *rest)

    def _headers(self) -> dict[str, str]:
        headers = {"accept": "application/json"}
        return headers if self.key is None else headers | {"authorization": f"Bearer {self.key}"}


# --- the request ------------------------------------------------------------------------------------------------------


def _fields(query: Query) -> tuple[dict[str, str | int], str | None]:
    """The body of a search, and what the report has to say about it."""
    fields: dict[str, str | int] = {"q": query.text}
    details = []
    if query.limit > DEFAULT_RESULTS:
        fields["num"] = min(query.limit, MAX_RESULTS)
    if query.limit > MAX_RESULTS:
        details.append(f"at most {MAX_RESULTS} results")
    if query.page > 1:
        fields["page"] = query.page
    if query.language:
        places = _language(query.language)
        fields |= places
        if "hl" not in places:
            details.append("language not supported")
    if query.date:
        details.append("date filter not supported")
    return fields, "; ".join(details) or None


def _language(tag: str) -> dict[str, str | int]:
    """Language and country as the search takes them; no language where it would refuse it."""
    parts = tag.lower().replace("_", "-").split("-")
    places: dict[str, str | int] = {}
    known = NAMED_LANGUAGES.get("-".join(parts[:2])) or NAMED_LANGUAGES.get(parts[0])
    if known or parts[0] in LANGUAGES.split():
        places["hl"] = known or parts[0]
    regions = [part for part in parts[1:] if len(part) == 2 and part.isascii() and part.isalpha()]
    if regions:
        places["gl"] = regions[0]
    return places


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of a search."""
    results = reply["data"]
    if not isinstance(results, list):
        raise Malformed("results are no list")
    hits = tuple(_hit(result) for result in results if _is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    return Hit(
        result["url"], title(result.get("title")), snippet(result.get("description")), published(result.get("date"))
    )


# Stands in the envelope, never looked for in the page itself.
_TARGET_STATUS = re.compile(r"Target URL returned error (\d{3})\b")


def parse_page(reply: Any) -> Page:
    """The page of an answer; its `url` is empty where the answer names none.

    Raises what the site's own status stands for, which only a warning tells, and Empty where there is no text.
    """
    if reply.get("code", 200) != 200:
        raise Malformed("a success that says it is none")
    found = reply["data"]
    _check_warning(found.get("warning"))
    markdown = found["content"]
    if not isinstance(markdown, str):
        raise Malformed("content is no text")
    if not markdown.strip():
        raise Empty("no content")
    url = found.get("url") if _is_web_address(found.get("url")) else ""
    metadata = found.get("metadata")
    language = metadata.get("lang") if isinstance(metadata, dict) else None
    return Page(
        url=url,
        final_url=url,
        markdown=markdown,
        title=title(found.get("title")),
        excerpt=snippet(found.get("description")),
        published=published(found.get("publishedTime")),
        language=language if isinstance(language, str) and language else None,
        signals=Signals(status=200),
    )


def _check_warning(warning: Any) -> None:
    text = warning if isinstance(warning, str) else ""
    if found := _TARGET_STATUS.search(text):
        error = told_site_error(int(found[1]))
        raise error if error is not None else Unsupported(f"status {found[1]}")
    if "requiring CAPTCHA" in text:
        raise Blocked("the reader met a captcha")


def _at(page: Page, url: str) -> Page:
    return Page(
        url=url, final_url=url, markdown=page.markdown, title=page.title, excerpt=page.excerpt,
        published=page.published, language=page.language, signals=page.signals,
    )  # fmt: skip


def parse_order(reply: Any) -> tuple[int, ...]:
    """The places of a ranking, best first."""
    places = tuple(result["index"] for result in reply["results"])
    if not all(type(place) is int for place in places):
        raise Malformed("a place is no number")
    return places


def _is_web_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)
