"""What the pipeline tests are made of: real actors around scripted providers, and pipelines over them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from actors.options import Orders, PipelineOptions
from actors.pipelines import Pipelines
from actors.row import Row
from providers._contract import Evidence, Found, Hit, Kind, Page, Role, Signals, Target
from tests.actors.lab import Scripted, supervised

TODAY = date(2026, 11, 18)
URL = "https://site.example/article"
ALL_ROLES = frozenset(Role)


@dataclass(eq=False)
class Reading(Scripted):
    """A scripted provider that is asked for every target, or as `wants` says."""

    wants: Any = None

    def accepts(self, target: Target) -> bool:
        return True if self.wants is None else self.wants(target)


@dataclass
class Checking:
    """A guard that gives prepared verdicts by URL and notes what it was asked."""

    verdicts: dict[str, Kind] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def check(self, url: str, *, reach: str) -> Kind | None:
        self.asked.append((url, reach))
        await trio.lowlevel.checkpoint()
        return self.verdicts.get(url)


@dataclass
class Lab:
    """Pipelines, the scripted providers by name, and what was told with its time."""

    pipelines: Pipelines
    supervisor: Any
    providers: dict[str, Any]
    told: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)

    def tell(self, event: str, fields: dict[str, Any]) -> None:
        self.told.append((trio.current_time(), event, fields))

    async def in_flight(self) -> int:
        """How many calls are still running once every actor has come to rest."""
        await wait_all_tasks_blocked()
        return sum(ref.statistics().in_flight for ref in self.supervisor.refs.values())

    def calls(self, name: str) -> list[float]:
        return self.providers[name].calls

    def jobs(self, name: str) -> list[Any]:
        return self.providers[name].jobs


def row(name: str, *script: Any, wants: Any = None, roles: frozenset[Role] = ALL_ROLES, **fields: Any) -> Row:
    """A row around a provider that runs `script`. No retries and no breaker unless asked for."""
    provider = Reading(list(script), wants=wants)
    return Row(name, name, provider, roles, **{"retries": 0, "has_breaker": False, "reach": "direct", **fields})


@asynccontextmanager
async def laboratory(
    *rows: Row,
    search: Any = None,
    images: Any = None,
    read: Any = None,
    rerank: str | None = None,
    guard: Checking | None = None,
    **options: Any,
) -> AsyncIterator[Lab]:
    """Pipelines over `rows`; each order is all of them in turn unless it is given."""
    names = tuple(one.name for one in rows)
    orders = Orders(search or names, images or names, read or names, rerank)
    async with supervised(*rows) as supervisor:
        pipelines = Pipelines(
            supervisor.refs, orders, guard or Checking(), PipelineOptions(**options), today=lambda: TODAY
        )
        yield Lab(pipelines, supervisor, {one.name: one.provider for one in rows})


def hits(*names: str, **fields: Any) -> Found[Hit]:
    return Found(tuple(Hit(f"https://{name}.example/", name, **fields) for name in names))


def many(prefix: str, count: int) -> Found[Hit]:
    return hits(*(f"{prefix}{number}" for number in range(count)))


def good(text: str = "good", **fields: Any) -> Page:
    """A page with enough content, beginning with `text`."""
    return Page(URL, f"{text} " + "word after word " * 40, **fields)


def thin(text: str = "short", **signals: Any) -> Page:
    return Page(URL, text, signals=Signals(**signals), evidence=Evidence(URL, "answered", 200))
