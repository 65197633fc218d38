"""JATS, the XML of journals' articles, to a page: first to HTML, which the writer of Markdown knows.

The parser resolves no entity, loads no DTD, asks no network and does not go deeper than 256. References, footnotes,
affiliations and pictures are left out, and with them the numbers in the text that pointed there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from types import MappingProxyType

from lxml import etree

from providers._contract import Document, Empty, Page

from .drafts import Draft, page_of
from .markdown import to_markdown
from .prepare import prepare
from .tree import parse

MIN_BODY_CHARS = 500
MAX_AUTHORS = 50

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_INLINE = MappingProxyType({"italic": "em", "bold": "strong", "monospace": "code", "sup": "sup", "sub": "sub"})
_BLOCKS = MappingProxyType(
    {
        "p": "p", "list-item": "li", "def-list": "dl", "term": "dt", "def": "dd", "disp-quote": "blockquote",
        "boxed-text": "blockquote", "verse-group": "blockquote", "verse-line": "p",
        "thead": "thead", "tbody": "tbody", "tr": "tr",
    }
)  # fmt: skip
_LEFT_OUT = frozenset(
    (
        "ref-list", "fn-group", "fn", "glossary", "notes", "aff", "author-notes", "permissions", "funding-group",
        "kwd-group", "custom-meta-group", "related-article", "supplementary-material", "media", "graphic",
        "inline-graphic", "object-id", "floats-group", "sub-article", "response", "label", "title", "attrib", "ack",
    )
)  # fmt: skip
_OTHER_ABSTRACTS = frozenset(("graphical", "teaser", "toc", "key-images"))

# Stands where a number was that pointed to a reference; brackets and raised text around nothing else go with it.
_DROPPED = "\ue000"
_BETWEEN = r"[\s,;\u2013-]*"
_RAISED = re.compile(rf"\s*<sup>{_BETWEEN}(?:{_DROPPED}{_BETWEEN})+</sup>")
_BRACKETED = re.compile(rf"\s*(?:\[{_BETWEEN}(?:{_DROPPED}{_BETWEEN})+\]|\({_BETWEEN}(?:{_DROPPED}{_BETWEEN})+\))")
_BARE = re.compile(rf"\s*{_DROPPED}(?:{_BETWEEN}{_DROPPED})*")
_DOCUMENT = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)


def jats_to_page(document: Document) -> Page:
    """The page of an article. Raises Empty where there is no full text in it. Pure, and slow where it is hostile."""
    article = _article(document.body)
    body = None if article is None else _child(article, "body")
    if article is None or body is None or len(" ".join("".join(body.itertext()).split())) < MIN_BODY_CHARS:
        raise Empty("no full text")
    meta = _first(article, "article-meta")
    front = "" if meta is None else _front(article, meta)
    root = parse(f"<html><body>{front}{_cited(_children(body, 1))}</body></html>")
    if root is None:
        raise Empty("no full text")
    prepare(root)
    authors = [] if meta is None else _authors(meta)
    draft = Draft(
        to_markdown(root),
        title="" if meta is None else _text(_first(meta, "article-title")),
        byline=", ".join(authors),
        published=None if meta is None else _date(meta),
        language=article.get(_XML_LANG),
    )
    return page_of(document, draft)


def _article(body: bytes) -> etree._Element | None:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(body.lstrip(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return root if _name(root) == "article" else _first(root, "article")


# --- the front --------------------------------------------------------------------------------------------------------


def _front(article: etree._Element, meta: etree._Element) -> str:
    """Title, authors, where and when it was published, and the abstract."""
    heading = " ".join(filter(None, (_inline_of(_first(meta, "article-title")), _inline_of(_first(meta, "subtitle")))))
    journal, doi = _text(_first(article, "journal-title")), _doi(meta)
    facts = ", ".join(filter(None, (journal, (_date(meta) or "")[:4], f"doi:{doi}" if doi else "")))
    parts = [f"<h1>{heading}</h1>" if heading else ""]
    parts += [f"<p>{escape(line)}</p>" for line in (", ".join(_authors(meta)), facts) if line]
    abstracts = [
        each for each in meta if _name(each) == "abstract" and each.get("abstract-type") not in _OTHER_ABSTRACTS
    ]
    abstracts = abstracts or [each for each in meta if _name(each) == "trans-abstract"][:1]
    parts += [f"<h2>Abstract</h2>{_children(each, 2)}" for each in abstracts]
    return _cited("".join(parts))


def _authors(meta: etree._Element) -> list[str]:
    found = []
    for contributor in _all(meta, "contrib"):
        if contributor.get("contrib-type") not in (None, "author"):
            continue
        name = _first(contributor, "name")
        if name is not None:
            given, family = _text(_child(name, "given-names")), _text(_child(name, "surname"))
            found.append(" ".join(filter(None, (given, family))))
        else:
            found.append(_text(_first(contributor, "collab")))
    return [name for name in found if name][:MAX_AUTHORS]


def _doi(meta: etree._Element) -> str:
    return next((_text(each) for each in _all(meta, "article-id") if each.get("pub-id-type") == "doi"), "")


def _date(meta: etree._Element) -> str | None:
    """The first date of publication that says its year, as far as it goes."""
    for each in _all(meta, "pub-date"):
        year, month, day = (_text(_child(each, name)) for name in ("year", "month", "day"))
        if re.fullmatch(r"[12]\d{3}", year, re.ASCII):
            is_whole = re.fullmatch(r"\d{1,2}", month, re.ASCII) and re.fullmatch(r"\d{1,2}", day, re.ASCII)
            return f"{year}-{int(month):02d}-{int(day):02d}" if is_whole else f"{year}-01-01"
    return None


# --- the text ---------------------------------------------------------------------------------------------------------


def _children(element: etree._Element, depth: int) -> str:
    """The HTML of what is inside an element. `depth`: how many sections are around it, the article counts as one."""
    parts = [escape(element.text or "")]
    for child in element:
        if isinstance(child.tag, str):
            parts.append(_html(child, depth))
        parts.append(escape(child.tail or ""))
    return "".join(parts)


def _html(element: etree._Element, depth: int) -> str:
    name = _name(element)
    if name in _LEFT_OUT:
        return ""
    if name in _INLINE:
        return f"<{_INLINE[name]}>{_children(element, depth)}</{_INLINE[name]}>"
    if name in _BLOCKS:
        return f"<{_BLOCKS[name]}>{_children(element, depth)}</{_BLOCKS[name]}>"
    match name:
        case "sec" | "app":
            return "" if element.get("sec-type") == "kwd-group" else _section(element, depth)
        case "list":
            kind = "ol" if element.get("list-type") == "order" else "ul"
            return f"<{kind}>{_children(element, depth)}</{kind}>"
        case "td" | "th":
            return f"<{name}{_spans(element)}>{_children(element, depth)}</{name}>"
        case "table":
            return f"<table>{_children(element, depth)}</table>"
        case "table-wrap" | "fig":
            return _captioned(element, depth)
        case "code" | "preformat":
            return f"<pre><code>{escape(''.join(element.itertext()))}</code></pre>"
        case "disp-formula" | "inline-formula" | "tex-math" | "math":
            return _formula(element, is_block=name == "disp-formula")
        case "ext-link" | "uri":
            return _link(element, depth)
        case "xref" if element.get("ref-type") == "bibr":
            return _DROPPED
        case "break":
            return " "
    return _children(element, depth)


def _section(element: etree._Element, depth: int) -> str:
    level = min(depth + 1, 6)
    heading = " ".join(filter(None, (escape(_text(_child(element, "label"))), _inline_of(_child(element, "title")))))
    start = f"<h{level}>{heading}</h{level}>" if heading else ""
    return start + _children(element, depth + 1)


def _captioned(element: etree._Element, depth: int) -> str:
    """A table or a figure: what it is called and says, then the table itself; of a figure no picture."""
    caption = _child(element, "caption")
    label = _text(_child(element, "label"))
    words = [] if caption is None else [_inline_of(part) for part in caption]
    line = " ".join(filter(None, (f"<strong>{escape(label)}</strong>" if label else "", *words)))
    start = f"<p>{line}</p>" if line else ""
    if _name(element) == "fig":
        return start
    tables = "".join(_html(each, depth) for each in _all(element, "table"))
    foot = _child(element, "table-wrap-foot")
    notes = "" if foot is None else " ".join("".join(foot.itertext()).split())
    return start + tables + (f"<p>{escape(notes)}</p>" if notes else "")


def _spans(cell: etree._Element) -> str:
    pairs = ((name, cell.get(name) or "") for name in ("colspan", "rowspan"))
    return "".join(f' {name}="{value}"' for name, value in pairs if re.fullmatch(r"\d{1,3}", value, re.ASCII))


def _formula(element: etree._Element, *, is_block: bool) -> str:
    """TeX where there is some, else the signs of the formula; never both of two alternatives."""
    tex = element if _name(element) == "tex-math" else _first(element, "tex-math")
    if tex is None:
        math = element if _name(element) == "math" else _first(element, "math")
        text = escape(_text(math))
        return f"<p>{text}</p>" if is_block and text else text
    source = "".join(tex.itertext())
    found = _DOCUMENT.search(source)
    source = (found[1] if found else source).strip().strip("$").replace("</", "< /")
    mode = "; mode=display" if is_block else ""
    return f'<script type="math/tex{mode}">{source}</script>'


def _link(element: etree._Element, depth: int) -> str:
    target = element.get(_XLINK_HREF) or _text(element)
    text = _children(element, depth)
    return f'<a href="{escape(target)}">{text}</a>' if target.startswith(("http://", "https://")) else text


def _cited(text: str) -> str:
    """The text without what is left of numbers that pointed to references."""
    return _BARE.sub("", _BRACKETED.sub("", _RAISED.sub("", text)))


# --- the tree ---------------------------------------------------------------------------------------------------------


def _name(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _all(element: etree._Element, name: str) -> Iterator[etree._Element]:
    return (each for each in element.iterdescendants() if _name(each) == name)


def _first(element: etree._Element, name: str) -> etree._Element | None:
    return next(_all(element, name), None)


def _child(element: etree._Element, name: str) -> etree._Element | None:
    return next((each for each in element if _name(each) == name), None)


def _text(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(str(part) for part in element.itertext()).split())


def _inline_of(element: etree._Element | None) -> str:
    return "" if element is None else _children(element, 6).strip()
