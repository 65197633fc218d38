"""Markdown without its link targets, for `remove_links`. Pure, and linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*(?:\n|\Z)", re.MULTILINE)
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,300})\]:[ \t]*\S+[^\n]*(?:\n|\Z)", re.MULTILINE)
_TOKEN = re.compile(r"\\[^\n]|`+|!\[|\[|\]|<(?:https?://|mailto:)[^\s<>]{1,4000}>", re.IGNORECASE)
_TITLE = {'"': '"', "'": "'", "(": ")"}
# A destination longer or nested deeper than this is not taken for one, which also keeps the scan linear.
_MAX_DESTINATION_CHARS = 4096
_MAX_NESTING = 8
_MAX_LABEL_CHARS = 300
_BRACKETED = re.compile(r"<[^<>\n]{0,4096}>")
# An escaped character, which stops nothing, or what may end a destination.
_DESTINATION_STOP = re.compile(r"\\[^\s]|[()\s]")
_REFERENCE = re.compile(r"\[([^\[\]\n]{0,300})\]")


def remove_links(markdown: str) -> str:
    """Keep the texts of links and drop where they lead; code is left alone."""
    labels: set[str] = set()
    parts: list[str] = []
    for is_code, text in list(_split_fences(markdown)):
        if not is_code:
            labels.update(match.group(1).casefold() for match in _DEFINITION.finditer(text))
    for is_code, text in _split_fences(markdown):
        parts.append(text if is_code else _without_targets(_DEFINITION.sub("", text) if labels else text, labels))
    return "".join(parts)


def _split_fences(markdown: str) -> Iterator[tuple[bool, str]]:
    """The text in order, as (is fenced code, text)."""
    start = 0
    opened: str | None = None
    for match in _FENCED.finditer(markdown):
        mark = match.group(1)
        if opened is None:
            yield False, markdown[start : match.start()]
            start, opened = match.start(), mark
        elif mark[0] == opened[0] and len(mark) >= len(opened) and not match.group().strip(" \n`~"):
            yield True, markdown[start : match.end()]
            start, opened = match.end(), None
    yield opened is not None, markdown[start:]


def _without_targets(text: str, labels: set[str]) -> str:
    output: list[str] = []
    # For each bracket that is open: where its text begins in `output`, where in `text`, and what stood there.
    brackets: list[tuple[int, int, str]] = []
    closing = _closing_backticks(text)
    place = 0
    while match := _TOKEN.search(text, place):
        found = match.group()
        output.append(text[place : match.start()])
        place = match.end()
        if found[0] == "`":
            end = closing.get(match.start(), place)
            output.append(text[match.start() : end])
            place = end
        elif found[0] == "<":
            output.append(found[1:-1])
        elif found in ("[", "!["):
            brackets.append((len(output), match.end(), found))
            output.append(found)
        elif found == "]" and brackets:
            index, begins, opener = brackets.pop()
            target_end = _link_end(text, place, _label(text, begins, match.start()), labels)
            if target_end is None:
                output.append(found)
            else:
                output[index] = "" if opener == "[" else "[image: "
                output.append("" if opener == "[" else "]")
                place = target_end
        else:
            output.append(found)
    output.append(text[place:])
    return "".join(output)


def _label(text: str, begins: int, ends: int) -> str:
    """The text of a bracket, as the name of a reference; one too long for a name is none."""
    return text[begins:ends] if ends - begins <= _MAX_LABEL_CHARS else ""


def _closing_backticks(text: str) -> dict[int, int]:
    """Where each code span that begins at the key ends: at the next run of as many backticks."""
    runs = [(match.start(), match.end()) for match in re.finditer(r"`+", text)]
    following: dict[int, int] = {}
    closing: dict[int, int] = {}
    for start, end in reversed(runs):
        width = end - start
        if width in following:
            closing[start] = following[width]
        following[width] = end
    return closing


def _link_end(text: str, place: int, label: str, labels: set[str]) -> int | None:
    """Where the target that follows a closing bracket at `place` ends, or None if this is no link."""
    if text.startswith("(", place):
        return _inline_end(text, place + 1)
    reference = _REFERENCE.match(text, place) if labels else None
    if reference is not None:
        name = reference.group(1) or label
        return reference.end() if name.casefold() in labels else None
    return place if labels and label.casefold() in labels else None


def _inline_end(text: str, place: int) -> int | None:
    """Where `(destination "title")` ends, seen from behind its opening bracket."""
    place = _skip_space(text, place)
    if text.startswith("<", place):
        bracketed = _BRACKETED.match(text, place)
        end = None if bracketed is None else bracketed.end()
    else:
        end = _bare_destination_end(text, place)
    if end is None:
        return None
    place = _skip_space(text, end)
    if place > end and text[place : place + 1] in _TITLE:
        place = _title_end(text, place)
    return place + 1 if text.startswith(")", place) else None


def _bare_destination_end(text: str, place: int) -> int | None:
    depth = 0
    for match in _DESTINATION_STOP.finditer(text, place, place + _MAX_DESTINATION_CHARS):
        stop = match.group()
        if stop == "(":
            depth += 1
            if depth > _MAX_NESTING:
                return None
        elif stop == ")" and depth:
            depth -= 1
        elif len(stop) == 1:
            return match.start() if depth == 0 else None
    return None


def _title_end(text: str, place: int) -> int:
    """Behind the title that opens at `place` and any space after it; `place` itself where it never closes."""
    closer = _TITLE[text[place]]
    limit = min(len(text), place + _MAX_DESTINATION_CHARS)
    end = text.find(closer, place + 1, limit)
    return place if end < 0 else _skip_space(text, end + 1)


def _skip_space(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\n":
        place += 1
    return place
