"""XML: RSS and Atom as a list of entries, anything else in a fence.

The parser resolves no entity, loads no DTD, asks no network and gives up at the first error: with `recover` it would
expand entities (security/FACTS.md C3). Broken XML is shown as it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime

from lxml import etree
from lxml import html as lxml_html

from providers._contract import Document

from .decode import decode
from .drafts import Draft, fenced
from .links import Links

MAX_ENTRIES = 500
_SUMMARY_CHARS = 1_000
_XML = "{http://www.w3.org/XML/1998/namespace}"
_WRITTEN_OFF = re.compile(r"[\\\[\]*_`<>]")


def read_xml(document: Document) -> Draft | None:
    """A feed as a list, other XML in a fence; None for XHTML, which is another reader's."""
    root = _parse(document.body)
    if root is None:
        return _as_source(document)
    name = _name(root)
    if name == "html":
        return None
    if name in ("rss", "RDF", "feed"):
        return _feed(root, _links(root, document.final_url or document.url))
    return _as_source(document)


def _parse(body: bytes) -> etree._Element | None:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(body.lstrip(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _as_source(document: Document) -> Draft:
    text = decode(document.body, document.content_type)
    markdown, is_cut = fenced(text, "xml") if text.strip() else ("", False)
    return Draft(markdown, truncated=is_cut)


def _links(root: etree._Element, url: str) -> Links:
    """Addresses of entries are relative to the feed, or to what Atom's `xml:base` says."""
    links = Links(url)
    declared = links.resolve(root.get(f"{_XML}base"))
    return Links(declared) if declared else links


def _feed(root: etree._Element, links: Links) -> Draft:
    channel = next((child for child in root if _name(child) == "channel"), root)
    entries = [element for element in root.iter() if _name(element) in ("item", "entry")]
    title = _text(channel, "title")
    about = _text(channel, "description", "subtitle")
    head = [f"# {title}" if title else "", about]
    shown = entries[:MAX_ENTRIES]
    body = "\n".join(line for entry in shown for line in _entry(entry, links))
    markdown = "\n\n".join(part for part in (*head, body) if part)
    language = _plain(channel, "language") or root.get(f"{_XML}lang")
    published = _date(_plain(channel, "lastBuildDate", "pubDate", "updated"))
    return Draft(markdown, title, published=published, language=language, truncated=len(entries) > len(shown))


def _entry(entry: etree._Element, links: Links) -> Iterator[str]:
    """One item of the list: title with link, date and author, then the summary, indented."""
    title = _text(entry, "title") or "(untitled)"
    link = _link(entry, links)
    facts = [_date(_plain(entry, "published", "pubDate", "date", "updated")) or "", _author(entry)]
    said = ", ".join(fact for fact in facts if fact)
    yield f"- {f'[{title}]({link})' if link else title}" + (f" ({said})" if said else "")
    summary = _text(entry, "summary", "description", "encoded", "content")
    if summary:
        yield f"  {summary}"


def _link(entry: etree._Element, links: Links) -> str:
    """The entry's address; of Atom's links the one that leads to the page itself."""
    for child in entry:
        if _name(child) == "link":
            address = links.resolve(child.get("href") or child.text)
            if address and child.get("rel", "alternate") == "alternate":
                return address
    guid = _plain(entry, "guid", "id")
    return (links.resolve(guid) or "") if guid.startswith(("http://", "https://")) else ""


def _author(entry: etree._Element) -> str:
    for child in entry:
        if _name(child) in ("author", "creator"):
            return _written_off(_text(child, "name") or "".join(child.itertext()))
    return ""


def _plain(parent: etree._Element, *names: str) -> str:
    """The text of the first child of one of these names that has any."""
    for name in names:
        for child in parent:
            if _name(child) == name:
                text = " ".join("".join(child.itertext()).split())
                if text:
                    return text
    return ""


def _text(parent: etree._Element, *names: str) -> str:
    """As `_plain`, where the text may be HTML: its words, on one line, safe in Markdown."""
    text = _plain(parent, *names)[: 20 * _SUMMARY_CHARS]
    if "<" in text or "&" in text:
        with suppress(etree.ParserError, etree.XMLSyntaxError, ValueError):
            tree = lxml_html.fromstring(f"<div>{text}</div>")
            text = " ".join(" ".join(tree.itertext()).split())
    if len(text) > _SUMMARY_CHARS:
        text = text[: text.rfind(" ", 0, _SUMMARY_CHARS) + 1 or _SUMMARY_CHARS].rstrip() + " …"
    return _written_off(text)


def _written_off(text: str) -> str:
    """Markdown signs as plain characters."""
    return _WRITTEN_OFF.sub(r"\\\g<0>", " ".join(text.split()))


def _date(text: str) -> str | None:
    """An RFC 2822 or ISO date as an ISO date; None for anything else."""
    with suppress(ValueError, TypeError, OverflowError):
        return parsedate_to_datetime(text).date().isoformat()
    with suppress(ValueError):
        return datetime.fromisoformat(text.replace("Z", "+00:00")).date().isoformat()
    return None


def _name(element: etree._Element) -> str:
    """The element's name without its namespace; '' for an entity that was left unresolved."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
