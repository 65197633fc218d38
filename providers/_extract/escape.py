"""Text that a page shows literally, written so that Markdown shows it literally too; nothing more is escaped."""

from __future__ import annotations

import re

_SUSPECT = re.compile(r"[\\`*_\[\]<&~|]")
_MARKS = re.compile(
    r"""
    \\(?=[!-/:-@\[-`{-~])          # a backslash that would escape the next mark
    | `                            # code
    | \*(?=\S) | (?<=\S)\*         # emphasis
    | (?<![^\W_])_(?=\S) | (?<=\S)_(?![^\W_])
    | ~(?=~)
    | <(?=[a-zA-Z/!?])             # a tag or an autolink
    | &(?=\#?\w{1,30};)            # a character reference
    | (?<=!)\[                     # a picture
    | \](?=[(\[:])                 # the middle of a link or a definition
    """,
    re.VERBOSE,
)
_BRACKETS = re.compile(r"(?<!\\)[\[\]]")
_LINE_START = re.compile(
    r"^(?:(?P<mark>\#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|={3,}\s*$|-{3,}\s*$|`{3}|~{3}|:(?=\s))|(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$))",
    re.MULTILINE,
)


def escape(text: str, in_link: bool = False) -> str:
    """Escape what would turn into markup inside a line."""
    if not _SUSPECT.search(text):
        return text
    text = _MARKS.sub(r"\\\g<0>", text)
    return _BRACKETS.sub(r"\\\g<0>", text) if in_link else text


def escape_lines(text: str) -> str:
    """Escape what would turn into markup at the start of a line."""
    return _LINE_START.sub(_escaped_start, text)


def _escaped_start(match: re.Match[str]) -> str:
    if match["mark"] is not None:
        return "\\" + match["mark"]
    return f"{match['number']}\\{match['dot']}"
