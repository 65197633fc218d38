"""Code blocks: text with its lines and indentation, without line numbers, and the language."""

from __future__ import annotations

import re

from lxml.html import HtmlElement

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|highlight-|brush:\s*)([\w+#.-]+)", re.I
)
_HIGHLIGHTER = re.compile(
    r"(?:^|\s)(?:hljs|sourceCode|prettyprint|prism-code|shiki|codehilite)\s+(?:lang(?:uage)?-)?([\w+#]+)"
)
_NOT_A_LANGUAGE = frozenset(
    [
        "default",
        "none",
        "notranslate",
        "source",
        "text",
        "plaintext",
        "code",
        "highlight",
        "line",
        "lines",
        "nohighlight",
        "copy",
        "wrapper",
        "container",
        "block",
        "github-dark",
        "github-light",
        "nord",
        "inline",
        "numbers",
        "linenums",
        "basic",
        "title",
        "body",
        "toolbar",
    ]
)
_NUMBER_CLASS = re.compile(
    r"(?:^|[\s_-])(?:line-?numbers?(?:-rows)?|linenos?|lineno|gutter|ln(?:um)?|line-num)(?:$|[\s_-])", re.I
)
_LINE_CLASS = re.compile(r"(?:^|[\s_-])(?:line|token-line|code-line|view-line|CodeMirror-line)(?:$|\s)", re.I)
_DIGITS = re.compile(r"[\d\s]*")
_ROW_TAGS = frozenset(("div", "p", "li", "tr"))


def language_of(block: HtmlElement) -> str:
    """The language that the page names for a `<pre>`, in lower case; empty where it names none."""
    ancestors = [ancestor for ancestor, _ in zip(block.iterancestors(), range(3), strict=False)]
    for element in (block, *block.iterchildren("code"), *ancestors):
        for name in ("data-lang", "data-language", "lang"):
            value = element.get(name)
            if value and (name != "lang" or element.tag == "pre") and re.fullmatch(r"[\w+#.-]{1,30}", value):
                return _known(value)
        classes = element.get("class") or ""
        for pattern in (_LANGUAGE, _HIGHLIGHTER):
            for found in pattern.finditer(classes):
                if _known(found[1]):
                    return _known(found[1])
    return ""


def _known(name: str) -> str:
    name = name.lower()
    return "" if name in _NOT_A_LANGUAGE or len(name) > 30 else name


def code_text(block: HtmlElement) -> str:
    """The lines of a code block, without line numbers."""
    pieces: list[str] = []
    _collect(block, pieces)
    text = "".join(pieces).replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ").replace("\u200b", "")
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip("\n")


def _collect(element: HtmlElement, pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for child in element:
        if isinstance(child.tag, str) and not _is_number(child):
            is_row = child.tag in _ROW_TAGS or (_LINE_CLASS.search(child.get("class") or "") is not None)
            if child.tag == "br":
                pieces.append("\n")
            elif is_row and _lacks_line_end(child):
                _start_line(pieces)
                _collect(child, pieces)
                _start_line(pieces)
            else:
                _collect(child, pieces)
        pieces.append(child.tail or "")


def _is_number(element: HtmlElement) -> bool:
    classes = element.get("class")
    if not classes or not _NUMBER_CLASS.search(classes):
        return False
    return _DIGITS.fullmatch("".join(element.itertext())) is not None


def _lacks_line_end(element: HtmlElement) -> bool:
    """Whether a line's own element does not hold or precede the line's end, so that it must be added."""
    if element.tag in _ROW_TAGS:
        return True
    tail = element.tail or ""
    last = element[-1] if len(element) else None
    ends = "\n" in tail or (last is not None and last.tag == "br") or "".join(element.itertext()).endswith("\n")
    return not ends and element.getnext() is not None


def _start_line(pieces: list[str]) -> None:
    for piece in reversed(pieces):
        if piece:
            if not piece.endswith("\n"):
                pieces.append("\n")
            return


def fenced(text: str, language: str) -> str:
    """A fence that nothing in the text can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
