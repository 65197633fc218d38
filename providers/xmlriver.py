"""XMLRiver: Yandex's result page as XML. Reference: https://xmlriver.com/apiydoc/apiy-about/ (read 2026-08).

User and key travel in the query of the URL, since the vendor knows no other way: no text of ours holds a URL, and no
redirect is followed. Ten hits a page, counted from nought; there is no parameter for a count. Three ages of a page can
be asked for, a year is none of them. Errors stand inside a 200, as numbers of the vendor's own: 15 is "nothing found",
200 is out of money, 500 is so common (up to a fifth of all answers) that a retry is called normal. An answer takes 3 to
6 s; an account may ask for 10 at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx
from lxml import etree

from providers import _workers
from providers._contract import (
    Denied,
    Found,
    Hit,
    Malformed,
    ProviderError,
    Query,
    QuotaSpent,
    RateLimited,
    Unavailable,
)
from providers._queries import is_web_address, joined, shortened
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, parsing

MAX_QUERY_CHARS = 400
INLINE_BYTES = 200_000
LANGUAGES = ("ru", "uk", "be", "kk", "tr", "en")
# What is asked for with a week covers two; hits known to be older are taken out later.
WITHIN = MappingProxyType({"d": "77", "w": "1", "m": "2"})

NOTHING_FOUND = 15
BUSY_SECONDS = 5.0
SUSPENDED_SECONDS = 20 * 60.0
RULES = (Rule(Denied, status=401, detail="user or key refused"),)


@register("xmlriver")
@dataclass(frozen=True, slots=True)
class Xmlriver:
    """Web hits. `user` is the account's number, `key` its key."""

    user: str = field(repr=False)
    key: str = field(repr=False)
    url: str = field(default="https://xmlriver.com/search_yandex/xml", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        fields, detail = _fields(query)
        account = {"user": self.user, "key": self.key}
        response = await ask(client, "GET", self.url, params=account | fields, rules=RULES)
        body = response.content
        hits = parse_hits(body) if len(body) < INLINE_BYTES else await _workers.run(parse_hits, body)
        return Found(hits[: query.limit], detail)


def _fields(query: Query) -> tuple[dict[str, str], str | None]:
    """The parameters of a search but the account's, and what the report has to say about them."""
    text, details = shortened(query.text, MAX_QUERY_CHARS)
    fields = {"query": text, "page": str(max(query.page, 1) - 1)}
    if query.date and query.date in WITHIN:
        fields["within"] = WITHIN[query.date]
    elif query.date:
        details.append("date filter not supported")
    if query.language:
        language = re.split("[-_]", query.language)[0].lower()
        if language in LANGUAGES:
            fields["lang"] = language
        else:
            details.append("language not supported")
    return fields, joined(details)


# --- the answer -------------------------------------------------------------------------------------------------------


def parse_hits(body: bytes) -> tuple[Hit, ...]:
    """The hits of an answer. Raises what the error in it stands for, and Malformed for anything that is no answer."""
    response = _root(body).find("response")
    if response is None:
        raise Malformed("answer without a response")
    if (error := response.find("error")) is not None:
        if (failure := _failure(error)) is not None:
            raise failure
        return ()
    with parsing():
        documents = response.findall("results/grouping/group/doc")
        if response.find("results") is None:
            raise Malformed("answer without results")
        hits = tuple(_hit(each) for each in documents if is_web_address(_text(each, "url")))
    if documents and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _root(body: bytes) -> Any:
    """The root of an XML body. The bytes go in, so that the declaration tells the encoding; a DTD is refused."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(body.lstrip(), parser)
    except (etree.XMLSyntaxError, ValueError):
        # Without the cause: it quotes the body.
        raise Malformed("answer is no XML") from None
    if root.getroottree().docinfo.internalDTD is not None or root.tag != "yandexsearch":
        raise Malformed("answer is another XML")
    return root


def _hit(document: Any) -> Hit:
    passages = " ".join(_flat(each) for each in document.findall("passages/passage"))
    words = passages or _text(document, "extendedpassage") or _text(document, "snippet")
    return Hit(
        _text(document, "url"), title(_text(document, "title")), snippet(words), published(_text(document, "pubDate"))
    )


def _text(element: Any, name: str) -> str:
    found = element.find(name)
    return "" if found is None else _flat(found)


def _flat(element: Any) -> str:
    """All text within: highlighted words are elements of their own."""
    return " ".join("".join(element.itertext()).split())


# --- errors -----------------------------------------------------------------------------------------------------------

_REFUSED = MappingProxyType(
    {
        31: "user unknown",
        42: "key refused",
        45: "our address is not allowed in the account's settings",
    }
)
_TRANSIENT = frozenset({20, 21, 22, 23, 24, 101, 202, 500})


def _failure(element: Any) -> ProviderError | None:
    """The error that the vendor's number stands for; None for the number that says nothing was found."""
    text = (element.get("code") or "").strip()
    code = int(text) if re.fullmatch(r"\d{1,6}", text) else None
    if code == NOTHING_FOUND:
        return None
    if code == 200:
        return QuotaSpent("balance used up (code 200)")
    if code is not None and code in _REFUSED:
        return Denied(f"{_REFUSED[code]} (code {code})")
    if code in (110, 111):
        return RateLimited(f"no free stream (code {code})", retry_after=BUSY_SECONDS)
    if code == 115:
        return RateLimited("too many at a time (code 115)", retry_after=_seconds(_flat(element)))
    if code == 201:
        return RateLimited("suspended (code 201)", retry_after=SUSPENDED_SECONDS)
    if code in _TRANSIENT:
        return Unavailable(f"code {code}")
    return Malformed("error without a number" if code is None else f"code {code}")


def _seconds(text: str) -> float:
    """The time that a sentence names, a minute where it names none; between a second and a day."""
    found = re.search(r"\d{1,6}", text)
    return min(max(float(found[0]), 1.0), 86_400.0) if found else 60.0
