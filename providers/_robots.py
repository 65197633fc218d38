"""robots.txt as RFC 9309 reads it: groups by product token, the longest matching path decides, `*` and `$`.

Own code, since the standard library's parser takes the first match instead of the longest and knows no wildcards.
Matching is linear in pattern times path; a file is read up to 500 KiB, as the RFC asks for at least (section 2.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

MAX_BYTES = 500 << 10
MAX_RULES = 20_000

_LINE = re.compile(r"[ \t]*([A-Za-z-]+)[ \t]*:[ \t]*([^#\r\n]*)")
_TOKEN = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One `Allow` or `Disallow` with a pattern that is not empty, percent-decoded to bytes."""

    allows: bool
    pattern: bytes


def is_allowed(robots: bytes, url: str, agent: str) -> bool:
    """May the robot with product token `agent` fetch `url`, as this robots.txt says? robots.txt itself always."""
    path = _path_of(url)
    if path == b"/robots.txt":
        return True
    matching = [rule for rule in rules_for(robots, agent) if matches(rule.pattern, path)]
    # The longest pattern decides; of two equally long ones the one that allows (section 2.2.2).
    best = max(matching, key=lambda rule: (len(rule.pattern), rule.allows), default=None)
    return best is None or best.allows


def rules_for(robots: bytes, agent: str) -> list[Rule]:
    """The rules of all groups that name `agent`; those of `*` where none does."""
    text = robots[:MAX_BYTES].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    named: list[Rule] = []
    general: list[Rule] = []
    is_named = False
    for agents, rule in _groups(text):
        if agent.lower() in agents:
            is_named = True
            named += [rule] if rule else []
        elif "*" in agents:
            general += [rule] if rule else []
    return named if is_named else general


def _groups(text: str) -> Iterator[tuple[frozenset[str], Rule | None]]:
    """Each rule with the agents of its group, and each group once with None, so that one without rules is seen."""
    agents: frozenset[str] = frozenset()
    in_head = False
    count = 0
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        found = _LINE.match(line)
        key, value = (found[1].lower(), found[2].strip()) if found else ("", "")
        if key == "user-agent":
            agents = (agents if in_head else frozenset()) | {_token(value)}
            in_head = True
            yield agents, None
        elif key in ("allow", "disallow"):
            in_head = False
            count += 1
            if value and count <= MAX_RULES:
                yield agents, Rule(key == "allow", _decoded(value))


def _token(value: str) -> str:
    """`research-mcp/1.0` names `research-mcp`; `*` stays."""
    if value.startswith("*"):
        return "*"
    found = _TOKEN.match(value)
    return found[0].lower() if found else ""


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether the pattern matches from the start of the path; `*` is any bytes, `$` at the end the path's end."""
    is_anchored = pattern.endswith(b"$")
    first, *rest = pattern.removesuffix(b"$").split(b"*")
    if not path.startswith(first):
        return False
    position = len(first)
    if not rest:
        return not is_anchored or position == len(path)
    last = rest.pop()
    for piece in rest:
        position = path.find(piece, position)
        if position < 0:
            return False
        position += len(piece)
    if is_anchored:
        return path.endswith(last) and len(path) - len(last) >= position
    return path.find(last, position) >= 0


def _path_of(url: str) -> bytes:
    parts = urlsplit(url)
    return _decoded((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def _decoded(text: str) -> bytes:
    """Percent-decoded, but for what would become a wildcard: `%2A` and `%24` are letters of the path."""
    kept = re.sub(r"%(2[Aa4])", lambda match: "%25" + match[1].upper(), text)
    return unquote_to_bytes(kept)
