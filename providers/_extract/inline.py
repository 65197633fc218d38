"""Runs of text with links and emphasis as Markdown. One `Inline` serves one page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lxml.html import HtmlElement

from .escape import escape, escape_lines
from .links import Links
from .pictures import picture_source
from .prepare import FORMULA_ATTRIBUTE

BREAK: Final = "\x02"
"""A line break while a run is being put together; control characters of the page are gone by then."""

_BOLD = frozenset(("b", "strong"))
_ITALIC = frozenset(("i", "em", "cite", "dfn"))
_STRUCK = frozenset(("del", "s", "strike"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_MARKS: Final = {**dict.fromkeys(_BOLD, "**"), **dict.fromkeys(_ITALIC, "*"), **dict.fromkeys(_STRUCK, "~~")}

_OUTSIDE_MARKS = ".,:;!?…«»„“”‘’\"'/–—-"
"""What may stand outside the marks around a word as well as inside, and is part of no markup itself."""
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0\u2028\u2029]+")
_INVISIBLE = re.compile(r"[\u00ad\u200b\u2060\ufeff]+")
_AROUND_BREAK = re.compile(r" *\x02 *")
_PARAGRAPH_BREAK = re.compile(r"(?:\x02){2,}")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|ère|e|ème|re|me|o|a|º|ª|°|tm|sm|®|™|©)\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Context:
    """What a piece of text stands in: marks that are on already, inside a link, inside a heading."""

    marks: frozenset[str] = frozenset()
    in_link: bool = False
    in_heading: bool = False


PLAIN: Final = Context()


def collapse(text: str) -> str:
    """White space as a browser shows it; invisible break marks do not split words."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    return _SPACES.sub(" ", text)


def paragraphs(run: str) -> list[str]:
    """A finished run as paragraphs: two breaks in a row part them, one is a hard line break."""
    if BREAK not in run:
        line = _SPACES.sub(" ", run).strip()
        return [escape_lines(line)] if line else []
    run = _AROUND_BREAK.sub(BREAK, _SPACES.sub(" ", run))
    parts = []
    for part in _PARAGRAPH_BREAK.split(run):
        lines = [line for line in part.split(BREAK) if line.strip()]
        if lines:
            parts.append(escape_lines("  \n".join(line.strip() for line in lines)))
    return parts


def one_line(run: str) -> str:
    """A finished run on one line."""
    return _SPACES.sub(" ", run.replace(BREAK, " ")).strip()


def mark_of(element: HtmlElement) -> str:
    """The marks that an element's text stands in; empty for most."""
    return _MARKS.get(str(element.tag), "")


class Run:
    """Pieces of a line on their way to a string. Marks of emphasis are put where Markdown takes them for marks.

    Where a letter stands beside them, a dot or bracket just inside them has to stay outside (CommonMark 0.31, 6.2);
    two equal ones that meet become one, and two others that meet are told apart by leaving the second out.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._mark = ""

    def add(self, piece: str, mark: str = "") -> None:
        """Append a piece that is in marks itself, if `mark` is given and `wrap` put it there."""
        if not piece:
            return
        before = self._pieces[-1] if self._pieces else ""
        core = piece.strip(" " + BREAK)
        mark = mark if mark and core.startswith(mark) and core.endswith(mark) else ""
        if mark and not self._mark and before[-1:] in ("*", "~") and before[-2:-1] != "\\":
            before = self._pieces[-1] = f"{before[:-1]}\\{before[-1]}"
        if self._mark and before.endswith(self._mark):
            if mark and piece.startswith(mark):
                if mark == self._mark:
                    self._pieces[-1], piece = before[: -len(mark)], piece[len(mark) :]
                else:
                    piece, mark = _unmarked(piece, mark), ""
            elif piece[0] in ("*", "~"):
                piece = f"\\{piece}"
            elif piece[0].isalnum():
                self._pieces[-1] = _closed_before_letter(before, self._mark)
        elif mark and piece.startswith(mark) and before[-1:].isalnum():
            piece = _opened_after_letter(piece, mark)
        if piece.startswith("[") and before.endswith("!") and not before.endswith("\\!"):
            self._pieces[-1] = f"{before[:-1]}\\!"  # or the link would be a picture
        self._pieces.append(piece)
        self._mark = mark

    def text(self) -> str:
        return "".join(self._pieces)


def _unmarked(piece: str, mark: str) -> str:
    core = piece.strip(" " + BREAK)
    return piece.replace(core, core.removeprefix(mark).removesuffix(mark), 1)


def _closed_before_letter(piece: str, mark: str) -> str:
    """`**word:**` in front of a letter is `**word**:`; without marks where no letter or inner mark ends near."""
    inside = piece[: -len(mark)]
    end = len(inside)
    while end and inside[end - 1] in _OUTSIDE_MARKS:
        end -= 1
    is_mark = inside[end - 1 : end] in ("*", "~") and inside[end - 2 : end - 1] != "\\"
    if inside[end - 1 : end].isalnum() or is_mark:
        return f"{inside[:end]}{mark}{inside[end:]}"
    return _unmarked(piece, mark)


def _opened_after_letter(piece: str, mark: str) -> str:
    """The same at the other end: `**“word”**` behind a letter is `“**word”**`."""
    inside = piece[len(mark) :]
    start = len(inside) - len(inside.lstrip(_OUTSIDE_MARKS))
    if inside[start : start + 1].isalnum() or inside[start : start + 1] in ("*", "~"):
        return f"{inside[:start]}{mark}{inside[start:]}"
    return _unmarked(piece, mark)


class Inline:
    """Writes inline content; `links` resolves addresses against the page."""

    def __init__(self, links: Links) -> None:
        self._links = links

    def content(self, element: HtmlElement, context: Context = PLAIN) -> str:
        """Everything inside an element, not yet trimmed, with BREAK for line breaks."""
        run = Run()
        if element.text:
            run.add(escape(collapse(element.text), context.in_link))
        for child in element:
            run.add(self.child(child, context), mark_of(child))
            if child.tail:
                run.add(escape(collapse(child.tail), context.in_link))
        return run.text()

    def child(self, element: HtmlElement, context: Context = PLAIN) -> str:
        """One inline element."""
        tag = element.tag
        if not isinstance(tag, str):
            return ""
        if tag in _MARKS:
            return self._emphasised(element, _MARKS[tag], context)
        if tag == "a":
            return self._link(element, context)
        if tag == "br":
            return BREAK
        if tag in _CODE:
            return _code(element)
        if tag == "img":
            return self.picture(element)
        if element.get(FORMULA_ATTRIBUTE) is not None:
            return (element.text or "").strip()
        return self._other(element, tag, context)

    def _other(self, element: HtmlElement, tag: str, context: Context) -> str:
        inside = self.content(element, context)
        if tag == "q":
            return f"“{inside.strip()}”"
        if tag == "sup":
            return _raised(inside, element)
        return inside

    def _emphasised(self, element: HtmlElement, mark: str, context: Context) -> str:
        if mark in context.marks or (context.in_heading and mark == "**"):
            return self.content(element, context)
        inside = self.content(element, Context(context.marks | {mark}, context.in_link, context.in_heading))
        return wrap(inside, mark)

    def _link(self, element: HtmlElement, context: Context) -> str:
        address = self._links.resolve(element.get("href"))
        if address is None or context.in_link:
            return self.content(element, context)
        inside = self.content(element, Context(context.marks, True, context.in_heading))
        return link(inside, address)

    def picture(self, element: HtmlElement) -> str:
        """`![alt](address)`, or nothing for a picture without a description."""
        alt = one_line(collapse(element.get("alt") or ""))
        address = self._links.resolve(picture_source(element))
        if not alt or address is None:
            return ""
        return f"![{escape(alt, True)}]({address})"


def wrap(inside: str, mark: str) -> str:
    """Put marks around the words, not around the spaces at either end (GFM would not take them for marks then)."""
    core = inside.strip(" " + BREAK)
    if not core or BREAK + BREAK in core or not any(letter.isalnum() for letter in core):
        return inside
    start = inside.index(core)
    trail = inside[start + len(core) :]
    if core[:2] in ("* ", "_ ", "~ "):  # loose signs, which are no marks until ours stand beside them
        core = f"\\{core}"
    if core[-2:] in (" *", " _", " ~"):
        core = f"{core[:-1]}\\{core[-1]}"
    return f"{inside[:start]}{mark}{core}{mark}{trail}"


def link(inside: str, address: str) -> str:
    """`[text](address)`; a link without text is nothing."""
    core = inside.strip(" " + BREAK)
    if not core:
        return inside
    start = inside.index(core)
    text = core.replace(BREAK, " ")
    return f"{inside[:start]}[{text}]({address}){inside[start + len(core) :]}"


def _code(element: HtmlElement) -> str:
    text = collapse("".join(element.itertext()))
    core = text.strip()
    if not core:
        return text
    longest = max((len(run) for run in re.findall(r"`+", core)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest and (core.startswith("`") or core.endswith("`")) else ""
    lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{lead}{fence}{pad}{core}{pad}{fence}{trail}"


def _raised(inside: str, element: HtmlElement) -> str:
    """Superscript: an exponent must not merge with its base, an ordinal's letters belong to the number."""
    core = inside.strip()
    if not core or "](" in core or _ORDINAL.fullmatch(core):
        return inside
    before = element.getprevious()
    text = before.tail if before is not None else getattr(element.getparent(), "text", "")
    if not text or not text[-1:].isalnum() or len(core) > 12:
        return inside
    return f"^{core}" if core.lstrip("+-−").isalnum() else f"^({core})"
