"""What `/stats` says, as a table for a terminal.

What answers on the port need not be this program, so its texts are cleaned once more and its shape is not trusted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from providers._clean import clean_line

MAX_CELL_CHARS = 24
MAX_TEXT_CHARS = 500
NARROWEST = 60
LONGEST_UPTIME = 1e9
ABSENT = ("unconfigured", "disabled")

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Column:
    """rank: where the terminal is too narrow the columns of the highest rank go first; 0 stays always."""

    title: str
    rank: int
    cell: Callable[[Entry], Any]


def _of(*path: str) -> Callable[[Entry], Any]:
    """The figure under a path of names, None where it is not there."""

    def take(entry: Entry) -> Any:
        found: Any = entry
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    return take


def _sum_of(*path: str) -> Callable[[Entry], Any]:
    def take(entry: Entry) -> Any:
        counts = _of(*path)(entry)
        return sum(each for each in counts.values() if isinstance(each, int)) if isinstance(counts, dict) else None

    return take


def _state(entry: Entry) -> Any:
    breaker, reopens = _of("breaker", "state")(entry), _of("breaker", "reopens_in_s")(entry)
    if entry.get("state") == "running" and breaker == "open":
        return f"open, {reopens:.0f} s" if isinstance(reopens, float) else "open"
    return entry.get("state")


def _quota(entry: Entry) -> Any:
    limit, period = _of("quota", "limit")(entry), _of("quota", "period")(entry)
    return None if limit is None else f"{_of('quota', 'used')(entry)}/{limit} {period}"


def _resets(entry: Entry) -> Any:
    return str(_of("quota", "resets_at")(entry) or "")[: len("2026-12-01")]


_COLUMNS = (
    _Column("instance", 0, _of("instance")),
    _Column("state", 0, _state),
    _Column("asks", 1, _of("calls", "total")),
    _Column("ok", 0, _of("calls", "ok")),
    _Column("empty", 5, _of("calls", "empty")),
    _Column("failed", 0, _sum_of("calls", "failed")),
    _Column("skipped", 2, _sum_of("calls", "skipped")),
    _Column("late", 5, _of("calls", "late")),
    _Column("running", 4, _of("in_flight")),
    _Column("waiting", 4, _of("mailbox", "depth")),
    _Column("slot in s", 4, _of("throttle", "next_slot_in_s")),
    _Column("quota", 0, _quota),
    _Column("resets", 3, _resets),
    _Column("billed", 2, _of("billed", "units")),
    _Column("p50 ms", 3, _of("latency_ms", "p50")),
    _Column("p95 ms", 1, _of("latency_ms", "p95")),
    _Column("restarts", 5, _of("restarts")),
)
_TOOLS = (
    _Column("tool", 0, _of("tool")),
    *(_Column(name.replace("_", " "), 0, _of(name)) for name in ("total", "ok", "failed", "in_flight")),
)


def table(shown: Mapping[str, Any], width: int) -> str:
    """The statistics as lines of at most `width` characters; where it is under NARROWEST, of that many."""
    width = max(width, NARROWEST)
    service = shown["service"]
    actors = [entry for entry in shown["actors"] if isinstance(entry, dict)]
    tools = [{**counts, "tool": name} for name, counts in service["calls"].items() if isinstance(counts, dict)]
    running = [entry for entry in actors if entry.get("state") not in ABSENT]
    parts = [[_head(service)], _columns(_TOOLS, tools, width), _columns(_COLUMNS, running, width)]
    notes = [*_warnings(service), *_errors(running), *_absent(actors)]
    parts.append(
        [line for note in notes for line in textwrap.wrap(note, width, subsequent_indent="  ", break_on_hyphens=False)]
    )
    lines = [line for part in parts if part for line in [*part, ""]]
    return "\n".join(line[:width].rstrip() for line in lines[:-1])


def _head(service: Entry) -> str:
    up = service.get("uptime_s")
    seconds = max(0, min(LONGEST_UPTIME, up)) if isinstance(up, (int, float)) else 0
    hours, minutes = divmod(int(seconds) // 60, 60)
    state = "draining" if service.get("draining") is True else "serving"
    name, version = _text(service.get("name")), _text(service.get("version"))
    return f"{name} {version}, {state} for {hours} h {minutes} min, toolset {_text(service.get('toolset'))}"


def _columns(columns: Sequence[_Column], entries: Iterable[Entry], width: int) -> list[str]:
    cells = [[column.title, *(_text(column.cell(entry)) for entry in entries)] for column in columns]
    kept = [(column, column_cells) for column, column_cells in zip(columns, cells, strict=True)]
    while _width(kept) > width and any(column.rank for column, _ in kept):
        worst = max(column.rank for column, _ in kept)
        kept.remove(next(each for each in reversed(kept) if each[0].rank == worst))
    padded = [_padded(column_cells, is_text=number < 2) for number, (_, column_cells) in enumerate(kept)]
    return ["  ".join(row) for row in zip(*padded, strict=True)]


def _width(kept: Sequence[tuple[_Column, list[str]]]) -> int:
    return sum(max(map(len, cells)) + 2 for _, cells in kept) - 2


def _padded(cells: Sequence[str], *, is_text: bool) -> list[str]:
    wide = max(map(len, cells))
    return [cell.ljust(wide) if is_text else cell.rjust(wide) for cell in cells]


def _text(value: Any) -> str:
    """One cell: figures without needless digits, texts without anything a terminal would obey."""
    if value is None or value == 0:
        return "" if value is None else "0"
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
    return clean_line(str(value), limit=MAX_CELL_CHARS)


def _warnings(service: Entry) -> list[str]:
    found = service.get("warnings")
    problem = _of("ledger", "problem")(service)
    texts = [*(found if isinstance(found, list) else []), *([f"ledger: {problem}"] if problem else [])]
    return [f"warning: {clean_line(str(text), limit=MAX_TEXT_CHARS)}" for text in texts]


def _errors(actors: Iterable[Entry]) -> list[str]:
    found = [(_text(entry.get("instance")), entry.get("last_error")) for entry in actors]
    return [f"last error of {name}: {clean_line(str(error), limit=MAX_TEXT_CHARS)}" for name, error in found if error]


def _absent(actors: Iterable[Entry]) -> list[str]:
    states = [(_text(entry.get("instance")), entry.get("state")) for entry in actors]
    names = {state: [name for name, each in states if each == state] for state in ABSENT}
    return [f"{state}: {', '.join(found)}" for state, found in names.items() if found]
