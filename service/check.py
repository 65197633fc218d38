"""`research-mcp check`: asks each configured instance once and says what works, what does not, and why.

Each question costs what one ordinary call costs. An instance that can do several things is asked for the first of them:
one key, one account, one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import trio

from actors.messages import Answer, Outcome
from actors.options import Asked
from providers._contract import Evidence, Found, ImageQuery, Job, Page, Query, Ranking, Role, Target
from service.instances import Configured

# What every index knows, and a page that is there for such purposes (RFC 2606).
QUERY = "open source software"
PAGE = "https://example.com/"
NO_SAMPLE = "reads special addresses only; none to try"

_TARGETS = (
    Target(PAGE),
    # Readers of last resort want to know that somebody else was refused before.
    Target(PAGE, Evidence(PAGE, "answered", 403)),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table. `works` is None where nothing was asked. `took` in seconds, `billed` in units."""

    instance: str
    asked: str
    works: bool | None
    detail: str
    took: float = 0.0
    billed: int = 0


async def check(refs: Mapping[str, Asked], configured: Configured, names: Iterable[str]) -> tuple[Finding, ...]:
    """Ask all instances at once. `names`: those of the table, in its order."""
    found: dict[str, Finding] = {}

    async def ask(ref: Asked) -> None:
        found[ref.name] = await _ask(ref)

    async with trio.open_nursery() as nursery:
        for ref in refs.values():
            nursery.start_soon(ask, ref)
    return tuple(found.get(name) or _absent(name, configured) for name in names)


async def _ask(ref: Asked) -> Finding:
    role, job = _job(ref)
    if job is None:
        return Finding(ref.name, role, None, NO_SAMPLE)
    outcome = await ref.ask(job)
    works, detail = _judged(outcome)
    return Finding(ref.name, role, works, detail, outcome.took, outcome.billed)


def _job(ref: Asked) -> tuple[str, Job | None]:
    jobs: Mapping[Role, Callable[[], Job | None]] = {
        Role.SEARCH: lambda: Query(QUERY, limit=1),
        Role.IMAGES: lambda: ImageQuery(QUERY, limit=1),
        Role.READ: lambda: next(filter(ref.accepts, _TARGETS), None),
        Role.RERANK: lambda: Ranking(QUERY, ("free software", "tea")),
    }
    role = next(role for role in jobs if role in ref.row.roles)
    return role.value, jobs[role]()


def _judged(outcome: Outcome) -> tuple[bool, str]:
    if not isinstance(outcome, Answer):
        return False, f"{outcome.kind.value}: {outcome.detail}" if outcome.detail else outcome.kind.value
    if isinstance(outcome.value, Found):
        return bool(outcome.value.items), f"{len(outcome.value.items)} found"
    if isinstance(outcome.value, Page):
        return bool(outcome.value.markdown), f"{len(outcome.value.markdown)} characters"
    return True, "answered"


def _absent(name: str, configured: Configured) -> Finding:
    missing = configured.unconfigured.get(name)
    return Finding(name, "", None, f"not configured: set {', '.join(missing)}" if missing else "switched off")


def failed(findings: Iterable[Finding]) -> bool:
    """Whether any instance that was asked does not work."""
    return any(finding.works is False for finding in findings)


def table(findings: Sequence[Finding]) -> str:
    """The findings as text in columns."""
    marks = {True: "ok", False: "FAILED", None: "-"}
    rows = [("instance", "asked for", "result", "ms", "billed", "why")]
    rows += [
        (
            finding.instance,
            finding.asked,
            marks[finding.works],
            f"{finding.took * 1000:.0f}" if finding.works is not None else "",
            str(finding.billed) if finding.billed else "",
            finding.detail,
        )
        for finding in findings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows
    ]
    return "\n".join(lines)
