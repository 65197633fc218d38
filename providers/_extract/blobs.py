"""Text that a page keeps in data instead of markup: JSON-LD and the state blobs of script frameworks.

Looked at only where the markup holds next to nothing; a blob also carries menus, labels and addresses, so only
running text is taken from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.html import HtmlElement

from .structured import Json, Node, parse_json, string, types_of

MIN_PROSE_CHARS = 80
MAX_PROSE_CHARS = 1_000_000
MAX_BLOBS = 20
BLOB_CHARS = 5_000_000
_TITLE_KEYS = ("title", "headline", "name")
_STATE = re.compile(
    r"^\s*(?:window\.|self\.|var\s+|const\s+)?[\w.$\[\]\"']{1,60}\s*=\s*(\{.*\}|\[.*\])\s*;?\s*$", re.DOTALL
)
_PROSE = re.compile(r"[^\W\d_]+(?:[\s,;:’'-]+[^\W\d_]+){7,}")
_HTML = re.compile(
    r"<(?:p|div|h[1-6]|ul|ol|br|section|article|table|blockquote|span|strong|em|a)\b[^<>]*>", re.IGNORECASE
)


def blob_texts(root: HtmlElement) -> list[str]:
    """Sources of scripts that hold data, JSON-LD left out; taken before scripts are removed."""
    texts: list[str] = []
    total = 0
    for script in root.iter("script"):
        kind, text = (script.get("type") or "").lower(), script.text or ""
        total += len(text)
        if total > BLOB_CHARS or len(texts) >= MAX_BLOBS:
            break
        if ("json" in kind and "ld+json" not in kind and "importmap" not in kind) or (
            kind in ("", "text/javascript")
            and len(text) > 200
            and _STATE.match(text[:200] + "}" if len(text) > 10_000 else text)
        ):
            texts.append(text)
    return texts


def article_of(nodes: list[Node]) -> str:
    """The whole text that JSON-LD holds (`articleBody`, `text` of a post), the longest one."""
    return max((_body(node) for node in nodes), key=len, default="")


def _body(node: Node) -> str:
    for key in ("articleBody", "reviewBody", "text", "recipeInstructions"):
        value = node.get(key)
        if isinstance(value, str) and len(value) >= MIN_PROSE_CHARS:
            return value[:MAX_PROSE_CHARS]
    return ""


def prose_of(texts: list[str]) -> tuple[str, list[str]]:
    """Title and running texts in the blob that has most of them; some of the texts may be HTML."""
    best: tuple[str, list[str]] = ("", [])
    for text in texts:
        found = _STATE.match(text) if not text.lstrip().startswith(("{", "[")) else None
        value = parse_json(found[1] if found else text)
        if value is not None:
            candidate = _prose_in(value)
            if sum(map(len, candidate[1])) > sum(map(len, best[1])):
                best = candidate
    return best


def _prose_in(value: Json) -> tuple[str, list[str]]:
    title = ""
    texts: dict[str, None] = {}
    total = 0
    for key, text in _strings(value):
        if len(text) >= MIN_PROSE_CHARS and total < MAX_PROSE_CHARS and _is_prose(text):
            texts[text] = None
            total += len(text)
        elif not title and key in _TITLE_KEYS and 3 < len(text) < 200:
            title = text
    return title, list(texts)


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """All strings with their keys, in document order, without recursion."""
    stack: list[tuple[str, Json]] = [("", value)]
    seen = 0
    while stack and seen < 200_000:
        key, item = stack.pop()
        seen += 1
        if isinstance(item, str):
            yield key, item.strip()
        elif isinstance(item, dict):
            stack.extend(reversed(item.items()))
        elif isinstance(item, list):
            stack.extend((key, part) for part in reversed(item))


def _is_prose(text: str) -> bool:
    if text.startswith(("http", "{", "data:", "/")):
        return False
    return _PROSE.search(text[:2_000]) is not None or (" " in text and not text.isascii() and len(text.split()) > 8)


def is_html(text: str) -> bool:
    """Whether a string of a blob is markup."""
    return _HTML.search(text) is not None


def product_lines(nodes: list[Node]) -> list[tuple[str, str]]:
    """What JSON-LD says of the page's product, as label and text; empty for other pages and for lists of products."""
    products = [node for node in nodes if types_of(node) & {"Product", "ProductGroup", "IndividualProduct"}]
    if not products or len({string(node.get("name")) for node in products}) > 3:
        return []
    product = products[0]
    lines = [("name", string(product.get("name"))), ("price", _price(product)), ("description", _description(product))]
    lines += [
        (key, string(product.get(key))) for key in ("brand", "sku", "gtin13", "color", "material", "size", "weight")
    ]
    for extra in product.get("additionalProperty") or []:
        if isinstance(extra, dict) and string(extra.get("name")):
            lines.append((string(extra.get("name")), string(extra.get("value"))))
    return [(label, text) for label, text in lines if text][:40]


def _description(product: Node) -> str:
    value = product.get("description")
    return value.strip()[:20_000] if isinstance(value, str) else ""


def _price(product: Node) -> str:
    """`129.00 EUR, in stock`."""
    offers = product.get("offers")
    offer = offers[0] if isinstance(offers, list) and offers else offers
    if not isinstance(offer, dict):
        return ""
    amount = string(offer.get("price")) or string(offer.get("lowPrice"))
    specification = offer.get("priceSpecification")
    if not amount and specification:
        first = specification[0] if isinstance(specification, list) else specification
        amount = string(first.get("price")) if isinstance(first, dict) else ""
    if not amount:
        return ""
    state = string(offer.get("availability")).rsplit("/", 1)[-1]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", state).lower()
    return f"{amount} {string(offer.get('priceCurrency'))}".strip() + (f", {words}" if words else "")
