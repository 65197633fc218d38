"""Why something did not work, as one line for the caller: per provider, and what would help."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from actors.results import ReadResult, Report, SearchResult, Step
from providers._contract import Kind
from service.texts import Texts

_SLOWED_DOWN = frozenset({Kind.THROTTLED, Kind.RATE_LIMITED, Kind.BLOCKED, Kind.CIRCUIT_OPEN, Kind.QUOTA_SPENT})
_UNREACHED = frozenset({Kind.UNAVAILABLE, Kind.TIMEOUT, Kind.DOWN, Kind.LATE})
_ENGLISH = Texts()
ROBOTS_DENIED = "robots.txt denied"


def reason_line(one: Report | Step, texts: Texts, now: float) -> str:
    """`throttled, next slot in 31 s`: kind, detail, and when asking again makes sense. Empty without a reason."""
    if one.reason is None:
        return one.detail or ""
    line = texts.say(f"kind.{one.reason.value}")
    # A detail in English may say no more than the kind does, and a throttle's is the slot, which comes below.
    said = {line.casefold(), _ENGLISH.say(f"kind.{one.reason.value}").casefold()}
    if one.detail and one.reason is not Kind.THROTTLED and one.detail.casefold() not in said:
        line = f"{line} ({one.detail})"
    if one.retry_at is None or one.retry_at <= now:
        return line
    key = "next_slot" if one.reason is Kind.THROTTLED else "again_in"
    return texts.say(key, reason=line, seconds=math.ceil(one.retry_at - now))


def search_failure(result: SearchResult[Any], texts: Texts, now: float, *, timeout: float) -> str | None:
    """Why a query gave nothing, without the hint; None for a success."""
    if result.status == "success":
        return None
    if result.status == "timeout":
        return texts.say("timed_out", seconds=_seconds(min(timeout, result.elapsed)))
    return _per_instance(result.reports, texts, now) or texts.say("no_provider")


def search_hint(results: Iterable[SearchResult[Any]], texts: Texts) -> str:
    """What an operator could do so that the queries would not fail, as a bracket to append."""
    reports = [report for result in results for report in result.reports if report.reason is not None]
    kinds = {report.reason for report in reports}
    if kinds & _SLOWED_DOWN:
        has_searxng = any(report.instance == "searxng" for report in reports)
        return texts.say("hint.key" if has_searxng else "hint.search")
    for wanted, key in ((frozenset({Kind.DENIED}), "hint.denied"), (_UNREACHED, "hint.network")):
        names = list(dict.fromkeys(report.instance for report in reports if report.reason in wanted))
        if names:
            return texts.say(key, names=", ".join(names))
    return texts.say("hint.later")


def page_failure(result: ReadResult, texts: Texts, now: float, *, timeout: float) -> str | None:
    """Why a page was not read; None for a success. A refused address is never explained: that would be an oracle."""
    if result.status == "success":
        return None
    if result.status == "timeout":
        return texts.say("page_timed_out", seconds=_seconds(min(timeout, result.elapsed)))
    if result.reason is Kind.REFUSED:
        return texts.say("robots_denied" if result.detail == ROBOTS_DENIED else "not_allowed")
    if result.reason is Kind.NOT_FOUND:
        return texts.say("kind.not_found")
    why = _per_instance([step for step in result.steps if step.status != "ok"], texts, now)
    return why or _plain_reason(result, texts)


def _plain_reason(result: ReadResult, texts: Texts) -> str:
    return texts.say("no_provider" if result.reason is None else f"kind.{result.reason.value}")


def _per_instance(ones: Sequence[Report | Step], texts: Texts, now: float) -> str:
    told = [(one.instance, reason_line(one, texts, now)) for one in ones]
    return "; ".join(f"{instance}: {line}" for instance, line in told if line)


def _seconds(seconds: float) -> str:
    """How long was waited; a shutdown may have made it less than the call was given."""
    return f"{seconds:.3g}"
