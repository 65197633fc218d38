"""`GET /ops`: one page that shows `/stats` live, and `GET /ops/data`, which it asks every few seconds.

The page is put together once, at start-up, from the files in `service/ops_page`, and goes out as one document
without anything beside it. Its policy lets it run that script, wear that style sheet and ask its own server, and
nothing else; `require-trusted-types-for` keeps even its own script from turning text into markup. It holds no data, so
who has no token gets it too, with status 401: it is what asks a person for the token, and keeps it for its tab.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from hashlib import sha256
from importlib.resources import files
from secrets import token_hex
from typing import Any

import trio

from actors.history import History, HistoryStatistics
from actors.options import Order, Orders
from actors.results import Report, Step
from actors.statistics import ActorStatistics
from providers._clean import clean_line
from providers._contract import Role
from service.answers import milliseconds
from service.app import Page, Reply, json_reply
from service.icon import data_uri
from service.recent import MAX_ABOUT_CHARS, Part, Recent, RecentCall
from service.stats import Desk, ready_instances

FILES = ("page.html", "style.css", "1-nodes.js", "2-figures.js", "3-contact.js")
FRESH_CALLS = 5
ABSENT = ("unconfigured", "disabled")

Data = dict[str, Any]


def ops_page() -> Reply:
    """The page: markup, style sheet and script in one document, with the policy that fits exactly these."""
    folder = files("service") / "ops_page"
    page, style, *scripts = ((folder / name).read_text(encoding="utf-8") for name in FILES)
    script = "".join(scripts)
    whole = page.replace("{{icon}}", data_uri()).replace("{{style}}", style).replace("{{script}}", script)
    headers = (
        (b"content-security-policy", _policy(style, script).encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"x-frame-options", b"DENY"),
        (b"cross-origin-opener-policy", b"same-origin"),
    )
    return Reply(200, whole.encode(), b"text/html; charset=utf-8", headers)


def _policy(style: str, script: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


class OpsDesk:
    """What the page shows.

    orders: who is asked in which order. histories: of the instances that run, by name. recent: the last calls.
    """

    def __init__(
        self, desk: Desk, orders: Orders, histories: Callable[[], Mapping[str, History]], recent: Recent
    ) -> None:
        self._desk = desk
        self._orders = orders
        self._histories = histories
        self._recent = recent
        self._shown: dict[int, Data] = {}
        self._process = token_hex(8)

    def pages(self, page: Reply) -> dict[str, Page]:
        return {"/ops": lambda: page, "/ops/data": self.data}

    def data(self) -> Reply:
        """All of `/stats`, and beside it `process`, `roles`, `ready`, `history` and `recent`.

        process: a random name of this one, since numbers of calls begin anew with each, and replicas answer in turn.
        """
        now, actors = trio.current_time(), self._desk.statistics()
        histories = {name: history.statistics(now) for name, history in self._histories().items()}
        shown = self._desk.safe_snapshot() | {
            "process": self._process,
            "roles": _roles(self._orders, actors),
            "ready": ready_instances(actors),
            "history": {
                "calls": _minutes(self._desk.calls.history.statistics(now)),
                "instances": {name: _minutes(seen) for name, seen in histories.items() if not seen.is_empty},
            },
            "recent": self._recent_calls(now),
        }
        return json_reply(200, shown)

    def _recent_calls(self, now: float) -> list[Data]:
        """The last calls, all but those whose turn to be shown comes with the next answer.

        To clean and redact a call may take 4 ms, so it is done once, for FRESH_CALLS in one answer,
        the newest first.
        """
        calls = self._recent.newest_first()
        fresh = [call for call in calls if call.number not in self._shown][:FRESH_CALLS]
        shown = self._shown | {call.number: self._call(call) for call in fresh}
        self._shown = {call.number: shown[call.number] for call in calls if call.number in shown}
        ages = {call.number: round(now - call.ended_at, 1) for call in calls}
        return [{**call, "ago_s": ages[number]} for number, call in self._shown.items()]

    def _call(self, call: RecentCall) -> Data:
        return {
            "number": call.number,
            "tool": call.tool,
            "ended": call.ended,
            "rejected": self._text(call.rejected),
            "ms": milliseconds(call.elapsed),
            "asked": self._text(call.asked),
            "parts": [self._part(part) for part in call.parts],
            "more_parts": call.more_parts,
        }

    def _part(self, part: Part) -> Data:
        return {
            "about": self._text(part.about),
            "status": part.status,
            "ms": milliseconds(part.elapsed),
            "steps": [self._step(step) for step in part.steps],
            "more_steps": part.more_steps,
        }

    def _step(self, step: Report | Step) -> Data:
        return {
            "instance": step.instance,
            "status": step.status,
            "reason": None if step.reason is None else step.reason.value,
            "detail": self._text(step.detail),
            "ms": milliseconds(step.elapsed),
        }

    def _text(self, text: str | None) -> str | None:
        return None if text is None else clean_line(self._desk.redact(text), limit=MAX_ABOUT_CHARS)


def _minutes(seen: HistoryStatistics) -> Data:
    """As `asdict`, which would copy each figure by itself and take 30 ms for all."""
    return {each.name: getattr(seen, each.name) for each in fields(seen)}


def _roles(orders: Orders, actors: Iterable[ActorStatistics]) -> list[Data]:
    """For each role the groups in which its instances are asked, in order; those that do not run are left out."""
    present = {one.instance: one.roles for one in actors if one.state not in ABSENT}

    def groups(order: Order) -> list[list[str]]:
        named = [[entry] if isinstance(entry, str) else list(entry) for entry in order]
        kept = [[name for name in group if name in present] for group in named]
        return [group for group in kept if group]

    in_order: dict[Role, Order] = {
        Role.SEARCH: orders.search,
        Role.IMAGES: orders.images,
        Role.READ: orders.read,
        Role.RERANK: () if orders.rerank is None else (orders.rerank,),
        Role.ROBOTS: tuple(name for name, roles in present.items() if Role.ROBOTS.value in roles),
    }
    return [{"role": role.value, "groups": groups(in_order[role])} for role in Role]
