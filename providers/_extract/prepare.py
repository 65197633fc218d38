"""Put a page's tree into the one shape that the readers and the writer understand.

What is content in the shape of something else becomes plain content (formulas, code with a line-number table, task
boxes, tab labels, embedded films); what is never content goes (scripts, form controls, permalinks, edit marks).
"""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement

from .edit import remove, replace
from .formulas import FORMULA_ATTRIBUTE, mark_formulas, may_hold_formulas
from .tags import HEADINGS, NOT_CONTENT

__all__ = ["FORMULA_ATTRIBUTE", "prepare"]

SENTENCE_WORDS = 6
_HEAVY = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre")
_PERMALINK_TEXT = frozenset(
    ("", "¶", "#", "🔗", "§", "link", "permalink", "anchor", "copy link", "direct link", "edit", "[edit]")
)
_PERMALINK_CLASS = re.compile(
    r"header-?link|hash-?link|(?:^|[\s_-])anchor|permalink|heading-?link|headline-?link", re.I
)
_EDIT_MARK = "//*[contains(concat(' ', normalize-space(@class), ' '), ' mw-editsection ')]"
_LINE_NUMBER_TABLE = (
    "//table[.//td[contains(@class, 'linenos') or contains(@class, 'gutter') or contains(@class, 'lineno')]]"
)
_SCREEN_READER_ONLY = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader(?:-text)?|screenreader|a11y-hidden|assistive-text)(?=\s|$)",
    re.I,
)
_TAB_LABELS = re.compile(r"(?:^|[\s_-])tab(?:bed)?[s_-]*(?:labels?|list|nav|headers?|titles?)(?:$|[\s_-])", re.I)


def prepare(root: HtmlElement, source: str | None = None) -> None:
    """Change the tree in place. Data in scripts must have been read before. `source`: the text it was parsed from."""
    if source is None or may_hold_formulas(source):
        mark_formulas(root)
    _shelve_data(root)
    _open_films(root)
    _mark_tasks(root)
    _label_tabs(root)
    _drop_buttons(root)
    etree.strip_elements(_body(root), *NOT_CONTENT, with_tail=False)
    _drop_line_numbers(root)
    _drop_marks(root)


def _shelve_data(root: HtmlElement) -> None:
    """Drop scripts and styles, but put JSON-LD into the head: trafilatura looks there for what kind of page this is."""
    head = root.find("head")
    scripts = [script for script in root.iter("script") if "ld+json" in (script.get("type") or "")]
    texts = [script.text for script in scripts]
    etree.strip_elements(root, "script", "style", with_tail=False)
    if head is None:
        return
    for text in texts:
        script = etree.SubElement(head, "script", type="application/ld+json")
        script.text = text


def _open_films(root: HtmlElement) -> None:
    """An embedded frame that has a title becomes a link to what it shows."""
    for frame in list(root.iter("iframe")):
        title, source = (frame.get("title") or "").strip(), frame.get("src") or ""
        if title and source.startswith(("http", "//")) and frame.get("width") != "0":
            paragraph = etree.Element("p")
            anchor = etree.SubElement(paragraph, "a", href=source)
            anchor.text = title
            replace(frame, paragraph)


def _mark_tasks(root: HtmlElement) -> None:
    for box in root.xpath("//input[@type='checkbox']"):  # `//li//input` takes quadratic time in libxml2
        item = next(box.iterancestors("li"), None)
        text = "".join(item.itertext()).strip() if item is not None else ""
        if item is not None and text and item.get("data-task") is None:
            item.set("data-task", "x" if box.get("checked") is not None else " ")


def _label_tabs(root: HtmlElement) -> None:
    """Put the label of each tab in front of its panel."""
    for labels in root.xpath("//*[@role='tablist' or contains(@class, 'tab')]"):
        if labels.get("role") != "tablist" and not _TAB_LABELS.search(labels.get("class") or ""):
            continue
        names = [" ".join("".join(label.itertext()).split()) for label in labels.iter("label", "button", "a", "li")]
        names = [name for name in names if name]
        panels = labels.getnext()
        if panels is None or not 1 < len(names) < 20 or len(panels) != len(names):
            continue
        for name, panel in zip(names, list(panels), strict=True):
            line = etree.Element("p")
            etree.SubElement(line, "strong").text = name
            line.tail = panel.text
            panel.text = None
            panel.insert(0, line)
        remove(labels)


def _drop_buttons(root: HtmlElement) -> None:
    """Buttons go, but those that hold content stay as plain text: a heading that opens its section, a whole card."""
    for button in list(root.iter("button")):
        parent = button.getparent()
        if parent is None:
            continue
        opens = parent.tag in HEADINGS or parent.tag in ("dt", "summary")
        if opens or next(button.iter(*_HEAVY), None) is not None or _is_sentence(button):
            button.tag = "span"
        else:
            remove(button)


def _is_sentence(button: HtmlElement) -> bool:
    words = "".join(text for text in button.itertext()).split()
    return len(words) >= SENTENCE_WORDS or (len(words) > 2 and words[-1].endswith("?"))


def _drop_line_numbers(root: HtmlElement) -> None:
    for table in root.xpath(_LINE_NUMBER_TABLE):
        blocks = table.xpath(".//td[not(contains(@class, 'lineno') or contains(@class, 'gutter'))]//pre")
        if len(blocks) == 1:
            replace(table, blocks[0])


def _drop_marks(root: HtmlElement) -> None:
    for element in root.xpath(_EDIT_MARK):
        remove(element)
    for anchor in root.xpath("//a[contains(@href, '#') or not(@href)]"):
        text = "".join(anchor.itertext()).strip(" \t\n\u200b\u00a0").lower()
        if text in _PERMALINK_TEXT and _is_permalink(anchor, text):
            remove(anchor)
    for element in root.xpath(
        "//*[contains(@class, 'sr-') or contains(@class, 'isually') or contains(@class, 'reader')]"
    ):
        if _SCREEN_READER_ONLY.search(element.get("class")) and element.tag not in HEADINGS:
            remove(element)


def _is_permalink(anchor: HtmlElement, text: str) -> bool:
    parent = anchor.getparent()
    if parent is None or next(anchor.iter("img"), None) is not None:
        return False
    if parent.tag in HEADINGS or parent.tag == "dt":
        return True
    return text != "" and _PERMALINK_CLASS.search(anchor.get("class") or "") is not None


def _body(root: HtmlElement) -> HtmlElement:
    body = root.find("body")
    return root if body is None else body
