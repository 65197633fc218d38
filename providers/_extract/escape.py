"""Text that a page shows literally, written so that Markdown shows it literally too; nothing more is escaped."""

from __future__ import annotations

import re

_SUSPECT = re.compile(r"[\\`*_\[\]<&~|]")
_INLINE = r"""
    \\(?=[!-/:-@\[-`{-~]|\ *\Z)    # a backslash that would escape the next mark, maybe one of ours
    | `                            # code
    | \*(?=\S) | (?<=\S)\*         # emphasis
    | (?<![^\W_])_(?=\S) | (?<=\S)_(?![^\W_])
    | ~(?=~) | (?<=~)~
    | <(?=[a-zA-Z/!?])             # a tag or an autolink
    | &(?=\#?\w{1,30};)            # a character reference
"""
_MARKS = re.compile(
    _INLINE
    + r"""
    | (?<=!)\[                     # a picture
    | \](?=[(\[:])                 # the middle of a link or a definition
    """,
    re.VERBOSE,
)
_MARKS_IN_LINK = re.compile(_INLINE + r"| [\[\]]", re.VERBOSE)
_ADDRESS = re.compile(r"(https?://(?:[^\s<>()\[\]|`*\\&]|\*(?=[\w/?&=.])|&(?!\#?\w{1,30};))+)")
"""A bare address: marks in it mean nothing, and it is to be copied as it stands."""
_LINE_START = re.compile(
    r"""
    ^(?: (?P<mark> \#{1,6}(?=\s|$) | [-+*](?=\s|$) | > | :(?=\s)
        | =(?==*[ \t]*$)                  # the line under a heading
        | [|:-](?=[|:\ \t-]*$) )          # such a line, a line across the page, or the one under a table's head
    | (?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$) )
    """,
    re.MULTILINE | re.VERBOSE,
)


def escape(text: str, in_link: bool = False) -> str:
    """Escape what would turn into markup inside a line."""
    if not _SUSPECT.search(text):
        return text
    if in_link:
        return _MARKS_IN_LINK.sub(r"\\\g<0>", text)
    if "://" not in text:
        return _MARKS.sub(r"\\\g<0>", text)
    parts = _ADDRESS.split(text)
    return "".join(part if index % 2 else _MARKS.sub(r"\\\g<0>", part) for index, part in enumerate(parts))


def escape_lines(text: str) -> str:
    """Escape what would turn into markup at the start of a line."""
    return _LINE_START.sub(_escaped_start, text)


def _escaped_start(match: re.Match[str]) -> str:
    if match["mark"] is not None:
        return "\\" + match["mark"]
    return f"{match['number']}\\{match['dot']}"
