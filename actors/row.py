"""One configured instance, as the runtime sees it. `service/instances.py` makes rows from the table and settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from providers._contract import Role

Period = Literal["day", "month"]
Reach = Literal["direct", "third_party", "self_hosted"]


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` calls start in any window of `period` seconds."""

    count: int
    period: float

    def __str__(self) -> str:
        return f"{self.count}/{self.period:g}s"


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `units` in each calendar `period` (UTC). Months begin on `first_day` (1 to 28), the billing day."""

    units: int
    period: Period
    first_day: int = 1


@dataclass(frozen=True, slots=True)
class SideRemote:
    """A second remote of an instance, at another vendor's.

    Requests whose extension `remote` is `name` go to it plainly: through its own proxy or none, never through the
    instance's, and never with the looks of a browser.
    """

    name: str
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Row:
    """What one actor needs to know of its instance.

    timeout: seconds one request may take. patience: seconds a request may wait for a throttle slot. has_breaker is
    off for readers that fetch pages themselves: there is no single remote to protect. paid: calls cost money, so
    they are counted as billed and never raced. family: instances of one family read the same index and count once
    in fusion. final: when every final reader that accepted a target has failed, the walk ends. reach: where a
    target's address goes: `direct` from here, to a `third_party`, or to a reader of the operator's own. exempt: the
    (host, port) pairs of the operator's own base URLs, which the address guard lets through for the vendor client.
    proxy_sessions: the proxy rotates, so each unit of work logs in with a session of its own. impersonate: its
    requests look like a browser's. secrets: the values to be redacted everywhere.
    """

    name: str
    type: str
    provider: Any
    roles: frozenset[Role]
    rate: Rate | None = None
    limit: Limit | None = None
    timeout: float = 25.0
    workers: int = 8
    patience: float = 0.0
    retries: int = 1
    has_breaker: bool = True
    paid: bool = False
    family: str = ""
    final: bool = False
    reach: Reach = "third_party"
    proxy: str | None = field(default=None, repr=False)
    proxy_sessions: bool = False
    side_remotes: tuple[SideRemote, ...] = ()
    exempt: frozenset[tuple[str, int]] = frozenset()
    impersonate: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
