"""Relative addresses in a Markdown document made absolute; nothing else of it is touched, and code not at all."""

from __future__ import annotations

import re

from .links import Links

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_ENTRY = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]")
_DEFINITION = re.compile(r"( {0,3}\[(?!\^)[^\]\n]{1,999}\]:[ \t]*)(<[^<>\n]*>|[^\s<>]+)")
_TARGET = re.compile(r"((?<!\\)\]\([ \t]*)(<[^<>\n]*>|[^\s()<>]++(?:\([^\s()<>]*+\)[^\s()<>]*+)*+)(?=[ \t]*[)\"'(])")
_ATTRIBUTE = re.compile(
    r"(<(?:a|img|source)\s(?:[^<>]*?\s)??(?:href|src)\s*=\s*[\"'])([^\"'<>]+)(?=[\"'])", re.IGNORECASE
)
_TICKS = re.compile(r"(`+)")


def absolute(text: str, base: str) -> str:
    """The document with the addresses of links, pictures and definitions resolved against `base` (RFC 3986)."""
    writer = _Resolver(Links(base))
    return "\n".join(writer.line(line) for line in text.split("\n"))


class _Resolver:
    """Goes through the lines in order and knows which of them are code."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._fence = ""
        self._in_list = self._after_text = False

    def line(self, line: str) -> str:
        fence = _FENCE.match(line)
        if self._fence:
            closes = fence is not None and fence[1].startswith(self._fence) and not line[fence.end() :].strip()
            self._fence = "" if closes else self._fence
            return line
        if fence is not None and ("`" not in line[fence.end() :] or fence[1][0] == "~"):
            self._fence = fence[1]
            return line
        if self._is_code(line):
            return line
        if "](" not in line and "]:" not in line and "<" not in line:
            return line
        return self._outside_code(_DEFINITION.sub(self._resolved, line, count=1) if "]:" in line else line)

    def _is_code(self, line: str) -> bool:
        """Whether this is a block of code by its indentation, which means something else below an entry of a list."""
        is_indented = line.startswith(("    ", "\t"))
        is_code = is_indented and not self._in_list and not self._after_text
        if line.strip():
            if not line[0].isspace() or _ENTRY.match(line):
                self._in_list = _ENTRY.match(line) is not None
            self._after_text = not is_code
        else:
            self._after_text = False
        return is_code

    def _outside_code(self, line: str) -> str:
        """Resolve between the code spans of a line: a run of ticks lasts to the next run of the same length."""
        parts = _TICKS.split(line)
        last: dict[str, int] = {ticks: index for index, ticks in enumerate(parts) if index % 2}
        out: list[str] = []
        until = ""
        for index, part in enumerate(parts):
            if index % 2 and (part == until or (not until and last[part] > index)):
                until = "" if until else part
            elif not index % 2 and not until:
                part = _ATTRIBUTE.sub(self._resolved, _TARGET.sub(self._resolved, part))
            out.append(part)
        return "".join(out)

    def _resolved(self, found: re.Match[str]) -> str:
        address = found[2].strip("<>")
        resolved = None if "{" in address else self._links.resolve(address)
        return found[0] if resolved is None else f"{found[1]}{resolved}"
