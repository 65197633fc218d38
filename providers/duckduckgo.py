"""DuckDuckGo's result page without scripts. Reference: none is published; its own form, seen 2026-08.

No key and no contract. About 10 hits on the first page and 15 on each later one; there is no parameter for a count.
A later page takes two requests: the first page, and its own "Next" form sent back with the token it carries; asked
without that token the site takes us for a bot. Four searches in a row get the address blocked for minutes, and a
retry lengthens that, so the row says one search per 45 s and no retry. A block comes as 202, as 403, or as a 200.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import httpx
from lxml import etree, html

from providers import _workers
from providers._contract import Blocked, Found, Hit, Malformed, ProviderError, Query, RateLimited, Unavailable
from providers._registry import register
from providers._relevance import IRRELEVANT, is_relevant
from providers._snippets import MAX_SNIPPET_CHARS, MAX_TITLE_CHARS, cut, published
from providers._wire import Rule, ask, parsing

MAX_QUERY_CHARS = 499
ALL_REGIONS = "wt-wt"
# Page n starts at 10 + 15 (n - 2); `dc` is one more.
FIRST_PAGE_HITS, LATER_PAGE_HITS = 10, 15
INLINE_BYTES = 200_000

RULES = (
    Rule(Blocked, status=202, detail="challenge page"),
    Rule(Blocked, status=403, detail="status 403"),
    Rule(RateLimited, status=418, detail="status 418"),
)

# The token of the "Next" form is bound to the User-Agent, so it never changes. One without client hints, because a
# browser that sends them would have to send them here too.
USER_AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:155.0) Gecko/20100101 Firefox/155.0"
HEADERS = MappingProxyType(
    {
        "user-agent": USER_AGENT,
        "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "referer": "https://html.duckduckgo.com/",
        "sec-fetch-dest": "document",
        "sec-fetch-mode": "navigate",
        "sec-fetch-site": "same-origin",
        "sec-fetch-user": "?1",
    }
)

# The site's own codes are country and language, the reverse of BCP 47, with exceptions; hence a table.
REGIONS = MappingProxyType(
    {
        "en": "us-en", "en-gb": "uk-en", "ru": "ru-ru", "de": "de-de", "de-at": "at-de", "fr": "fr-fr",
        "fr-ca": "ca-fr", "es": "es-es", "es-mx": "mx-es", "it": "it-it", "pt-br": "br-pt", "pt": "pt-pt",
        "nl": "nl-nl", "pl": "pl-pl", "cs": "cz-cs", "sv": "se-sv", "da": "dk-da", "fi": "fi-fi", "nb": "no-no",
        "no": "no-no", "uk": "ua-uk", "tr": "tr-tr", "el": "gr-el", "hu": "hu-hu", "ro": "ro-ro", "bg": "bg-bg",
        "ja": "jp-jp", "ko": "kr-kr", "zh-cn": "cn-zh", "zh-hans": "cn-zh", "zh-tw": "tw-tzh", "zh-hant": "tw-tzh",
        "zh-hk": "hk-tzh", "ar": "xa-ar", "vi": "vn-en", "th": "th-en", "id": "id-en", "et": "ee-et", "lt": "lt-lt",
        "lv": "lv-lv", "ca": "es-ca", "sl": "sl-sl", "sk": "sk-sk", "hr": "hr-hr",
    }
)  # fmt: skip

Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class Serp:
    """One result page, parsed. `next_fields` are the inputs of its "Next" form, empty where it has none."""

    hits: tuple[Hit, ...]
    next_fields: tuple[tuple[str, str], ...] = ()


@register("duckduckgo")
@dataclass(frozen=True, slots=True)
class Duckduckgo:
    """Web hits from the html endpoint. `url` needs its trailing slash."""

    url: str = "https://html.duckduckgo.com/html/"

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        text, details = _searchable(query.text)
        region = _region(query.language)
        if query.language and region == ALL_REGIONS:
            details.append("language not supported")
        fields = {"q": text, "b": "", "kl": region}
        if query.date:
            fields["df"] = query.date
        serp = await self._ask(fields, query, client)
        if query.page > 1:
            if not serp.next_fields:
                return Found((), _joined([*details, "no further page"]))
            serp = await self._ask(_page_fields(serp, query.page), query, client)
        return _found(serp.hits, query, details)

    async def _ask(self, fields: Fields, query: Query, client: httpx.AsyncClient) -> Serp:
        cookies = [f"{name}={fields[name]}" for name in ("kl", "df") if fields.get(name)]
        headers = HEADERS | {"accept-language": _accept_language(query.language), "cookie": "; ".join(cookies)}
        try:
            response = await ask(client, "POST", self.url, data=fields, headers=headers, rules=RULES)
        except Unavailable as error:
            # Asking again at once makes a block longer, so the row forbids it, and so does the error.
            raise Unavailable(error.detail, retry=False) from error
        if len(response.content) < INLINE_BYTES:
            return parse_serp(response.content)
        serp: Serp = await _workers.run(parse_serp, response.content)
        return serp


def _found(hits: tuple[Hit, ...], query: Query, details: list[str]) -> Found[Hit]:
    if hits and not is_relevant(query.text, (f"{hit.title} {hit.snippet} {hit.url}" for hit in hits)):
        return Found((), _joined([*details, IRRELEVANT]))
    return Found(hits[: query.limit], _joined(details))


def _joined(details: list[str]) -> str | None:
    return "; ".join(details) or None


# --- the request ------------------------------------------------------------------------------------------------------

# `!w` at the start of a word sends the searcher off to another site, and a backslash to the first hit.
_BANG = re.compile(r"(?<!\S)([!\\][^\s\"]*)")


def _searchable(text: str) -> tuple[str, list[str]]:
    """The query as the site can take it, and what has to be said about that."""
    quoted = _BANG.sub(r"'\1'", text)
    if len(quoted) <= MAX_QUERY_CHARS:
        return quoted, []
    head = quoted[: MAX_QUERY_CHARS + 1].rpartition(" ")[0]
    shortened = head if len(head) > MAX_QUERY_CHARS // 2 else quoted[:MAX_QUERY_CHARS]
    return shortened.rstrip(), [f"query cut to {len(shortened.rstrip())} characters"]


def _region(language: str | None) -> str:
    if not language:
        return ALL_REGIONS
    tag = language.replace("_", "-").lower()
    # `zh-Hant-TW` goes by its script, `en-US` by its language.
    for known in (tag, "-".join(tag.split("-")[:2]), tag.partition("-")[0]):
        if known in REGIONS:
            return REGIONS[known]
    return ALL_REGIONS


def _accept_language(language: str | None) -> str:
    if not language or language.lower().startswith("en"):
        return "en-US,en;q=0.5"
    return f"{language.replace('_', '-')},en;q=0.5"


def _page_fields(first: Serp, page: int) -> Fields:
    """What asks for page `page`: the first page's form as it came, moved on where a later page than 2 is meant."""
    fields = dict(first.next_fields)
    if page > 2:
        start = FIRST_PAGE_HITS + (page - 2) * LATER_PAGE_HITS
        fields |= {"s": str(start), "dc": str(start + 1)}
    return fields


# --- the answer -------------------------------------------------------------------------------------------------------

_ORIGIN = "https://html.duckduckgo.com/"
_CHALLENGE = (
    "//form[@id='challenge-form' or contains(@action, '/anomaly.js')]"
    " | //*[starts-with(@class, 'anomaly-modal__') or contains(@class, ' anomaly-modal__')]"
)


def _token(name: str) -> str:
    """XPath condition: the element has class `name`. (`result__body` is not `result`.)"""
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


_ROWS = f"//*[{_token('result')}][.//h2//a[{_token('result__a')}]]"
_LINK = f".//h2//a[{_token('result__a')}]"
_SNIPPET = f".//*[{_token('result__snippet')}]"
_DATE = f".//*[{_token('result__extras__url')}]//span"
_AD = f"self::*[{_token('result--ad')}]"
_NO_RESULTS = f"//*[{_token('no-results')} or {_token('no-results__message')} or {_token('result--no-result')}]"
_NEXT_INPUTS = "//form[.//input[@name='vqd']][1]//input[@type='hidden'][@name]"


def parse_serp(body: bytes) -> Serp:
    """Read one result page.

    Raises Blocked for a challenge, Malformed for a page that is neither a list of results nor says there are none.
    """
    with parsing():
        tree = _tree(body)
        if tree.xpath(_CHALLENGE):
            raise Blocked("challenge page")
        rows = tree.xpath(_ROWS)
        wanted = [row for row in rows if not row.xpath(_AD)]
        targets = [_target(row.xpath(_LINK)[0].get("href", "")) for row in wanted]
        hits = tuple(_hit(row, url) for row, url in zip(wanted, targets, strict=True) if url and not _is_ad(url))
        if hits:
            return Serp(hits, _next_fields(tree))
        if tree.xpath(_NO_RESULTS) or (rows and all(url and _is_ad(url) for url in targets)):
            return Serp(())
    raise _unreadable(bool(rows))


def _unreadable(has_rows: bool) -> ProviderError:
    return Malformed("no usable address among the results" if has_rows else "not a result page")


def _tree(body: bytes) -> html.HtmlElement:
    try:
        tree: html.HtmlElement = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))
    except etree.LxmlError:
        # Without the cause: the parser's message may quote the page.
        raise Malformed("not a result page") from None
    return tree


def _hit(row: html.HtmlElement, url: str) -> Hit:
    # Text of a parsed page has no markup left to be taken out.
    name, words = cut(_text(row, _LINK), MAX_TITLE_CHARS), cut(_text(row, _SNIPPET), MAX_SNIPPET_CHARS)
    return Hit(url, name, words, published(_text(row, _DATE)))


def _text(row: html.HtmlElement, path: str) -> str:
    found = row.xpath(path)
    return " ".join("".join(found[0].itertext()).split()) if found else ""


def _target(href: str) -> str | None:
    """Where a hit's link leads, unwrapped from the site's redirect; None where that is no web address."""
    link = urljoin(_ORIGIN, href.strip())
    parts = _split(link)
    if parts is None:
        return None
    if _is_ours(parts) and parts.path == "/l/":
        link = _parameter(parts.query, "uddg")
        parts = _split(link)
    return link if parts is not None and parts.scheme in ("http", "https") and parts.netloc else None


def _parameter(query: str, name: str) -> str:
    """The value of `name`, decoded once: a second time would break what is encoded inside the target.

    Not by `parse_qs`, which takes a plus sign for a space.
    """
    pairs = (pair.partition("=") for pair in query.split("&"))
    return next((unquote(value) for key, _, value in pairs if key == name), "")


def _is_ad(url: str) -> bool:
    parts = _split(url)
    return parts is not None and _is_ours(parts) and parts.path == "/y.js"


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _is_ours(parts: SplitResult) -> bool:
    host = (parts.hostname or "").removeprefix("www.")
    return host in ("duckduckgo.com", "html.duckduckgo.com", "lite.duckduckgo.com")


def _next_fields(tree: html.HtmlElement) -> tuple[tuple[str, str], ...]:
    return tuple((each.get("name"), each.get("value", "")) for each in tree.xpath(_NEXT_INPUTS))
