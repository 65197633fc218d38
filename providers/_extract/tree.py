"""From text to a tree that is safe to walk: no over-long tags, no control characters, no depth that breaks a parser.

All passes over the text are linear. Measured reasons (security/FACTS.md C2): one tag with 50,000 attributes costs
libxml2 3 s, since it looks each new attribute up among the others; nesting beyond 256 is dropped in silence unless
`huge_tree` is on, and beyond 2,048 always.
"""

from __future__ import annotations

import re

from lxml import etree, html
from lxml.html import HtmlElement

MAX_TAG_CHARS = 20_000
MAX_DEPTH = 200
KEPT_DEPTH = 60
"""How many nested containers are left of a page that is deeper than MAX_DEPTH; the rest lose their tags, not text."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")

# A tag as HTML reads it: quotes count after `=` only. Every part is possessive and the end is optional, so that no
# stretch of text is looked at twice.
_TAG = re.compile(r"<[a-zA-Z](?:[^=>]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|))*+>?")
_ATTRIBUTE = re.compile(r"([^\s=>\"'/]++)\s*+(?:=\s*+(\"[^\"]*+\"|'[^']*+'|[^\s>\"']*+))?+")
_KEPT_ATTRIBUTES = ("id", "class", "style", "hidden", "role", "aria-hidden", "href", "src", "alt", "type")
_MAX_KEPT_CHARS = 2_000

# Tags that hold nothing, or that a parser closes on its own: only others can nest without end.
_CLOSED = "p|li|dt|dd|tr|td|th|thead|tbody|tfoot|option|optgroup|br|hr|img|input|meta|link|wbr|area|base|col|embed"
_CLOSED += "|source|track|param|html|head|body|a|script|style|title|textarea|template|noscript"
_OPEN_OR_CLOSE = re.compile(rf"<(/?)(?!(?:{_CLOSED})[\s/>])[a-z][^\s<>/]*+(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_TOO_DEEP = "boolean(" + "/*" * MAX_DEPTH + ")"


def parse(text: str) -> HtmlElement | None:
    """The root element of a page, or None for a text without any element. Comments are left out."""
    text = strip_long_tags(_CONTROL.sub(" ", text))
    if "<![CDATA[" in text:
        text = _open_character_data(text)
    root, was_cut = _parse(text)
    if was_cut or (root is not None and root.xpath(_TOO_DEEP)):
        root, _ = _parse(flatten(text))
    return root


def _parse(text: str) -> tuple[HtmlElement | None, bool]:
    """The root, and whether the parser gave up on the page's depth."""
    data = text.encode("utf-8", "replace")
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True, collect_ids=False)
    try:
        root = html.document_fromstring(data, parser=parser)
    except (ValueError, etree.ParserError, etree.XMLSyntaxError):
        root = None
    limits = (etree.ErrorTypes.ERR_RESOURCE_LIMIT, etree.ErrorTypes.ERR_INTERNAL_ERROR)
    return root, any(entry.type in limits for entry in parser.error_log)


def strip_long_tags(text: str) -> str:
    """Cut tags of more than MAX_TAG_CHARS down to the attributes that matter (those that hide text among them)."""
    pieces = []
    position = 0
    for tag in _TAG.finditer(text):
        if tag.end() - tag.start() > MAX_TAG_CHARS:
            pieces.append(text[position : tag.start()])
            pieces.append(_short_tag(tag[0]))
            position = tag.end()
    pieces.append(text[position:])
    return "".join(pieces)


def _short_tag(tag: str) -> str:
    name = re.match(r"<([a-zA-Z][\w:-]{0,60})", tag)
    if name is None:
        return " "
    kept: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(tag, name.end()):
        key, value = attribute[1].lower(), (attribute[2] or "").strip("\"'")
        if key in _KEPT_ATTRIBUTES and key not in kept and len(value) <= _MAX_KEPT_CHARS:
            kept[key] = value.replace('"', "&quot;")
    return f"<{name[1]}" + "".join(f' {key}="{value}"' for key, value in kept.items()) + ">"


def flatten(text: str) -> str:
    """Take the tags off everything that is nested deeper than KEPT_DEPTH containers."""
    pieces = []
    position = depth = dropped = 0
    for tag in _OPEN_OR_CLOSE.finditer(text):
        drop = False
        if not tag[1]:
            drop = depth >= KEPT_DEPTH
            dropped += drop
            depth += not drop
        elif dropped:
            drop = True
            dropped -= 1
        else:
            depth = max(0, depth - 1)
        if drop:
            pieces.append(text[position : tag.start()])
            position = tag.end()
    pieces.append(text[position:])
    return " ".join(pieces)


def _open_character_data(text: str) -> str:
    """Character data of an XHTML page as text: an HTML parser would take it for a comment and drop it."""
    first, *others = text.split("<![CDATA[")
    pieces = [first]
    for part in others:
        inside, closed, after = part.partition("]]>")
        in_script = pieces[-1][-20:].rstrip().endswith(("//", "/*", "<!--"))
        if closed and not in_script:
            inside = inside.replace("&", "&amp;").replace("<", "&lt;")
        pieces.append(inside + after if closed else part)
    return "".join(pieces)
