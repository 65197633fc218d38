"""What one file of this folder declares about a provider type, and where the tests find it.

`tests/fakenet/<type>.py` (with `_` for `-`) has four names:

- `REMOTES`: remote name -> a function that makes its handler for a world. The handler plays the vendor as its sheet in
  the vendors' folder describes it, and refuses what the sheet says is refused.
- `build(urls, canary)`: the provider with the base URLs of those remotes (and of `web`), and `canary` as every secret.
- `environment(urls, key)`: the variables that point a whole server at this fake.
- `CASES`: for each role, a job and its payloads, as `Case` says.

And where the type's row has the impersonating transport, `IMPERSONATES = True`; where requests of its go to remotes by
a way of their own, `SIDE_REMOTES` with the names they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Literal, Protocol, cast

from providers._contract import Job, Kind, Role
from tests.fakenet._remote import HandlerOf

PAYLOADS = Path(__file__).parent.parent / "payloads"


@dataclass(frozen=True, slots=True)
class Case:
    """One role of one type.

    job: made from the base URLs. remote: where the faults of the contract tests are played, and for which `path`
    (an expression) where a remote has several. good, empty: files under tests/payloads/<type>/ as the vendor sends
    them for this job; `empty` None where a vendor has no such answer. content_type: of both. table: whose statuses
    they are (security/FACTS.md D1): a `vendor`'s; a `site`'s, where the type fetches the caller's page itself; or
    `any`, where every outcome that is typed will do. expected: where the vendor's sheet deviates from that table, by
    the trial's name in tests/contract/_trials.py; None stands for an answer.
    """

    role: Role
    remote: str
    job: Callable[[Mapping[str, str]], Job]
    good: str
    empty: str | None = None
    content_type: str = "application/json"
    path: str | None = None
    table: Literal["vendor", "site", "any"] = "vendor"
    expected: Mapping[str, Kind | None] = field(default_factory=lambda: MappingProxyType({}))


class Vendor(Protocol):
    """The module of one fake."""

    REMOTES: Mapping[str, HandlerOf]
    CASES: tuple[Case, ...]

    def build(self, urls: Mapping[str, str], canary: str) -> Any: ...

    def environment(self, urls: Mapping[str, str], key: str) -> dict[str, str]: ...


def vendor(type_name: str) -> Vendor:
    """The fake of provider type `type_name`. Raises ModuleNotFoundError when nobody has written it."""
    module: ModuleType = import_module(f"tests.fakenet.{type_name.replace('-', '_')}")
    return cast(Vendor, module)


def impersonates(type_name: str) -> bool:
    """Whether a type runs on the impersonating transport."""
    return getattr(vendor(type_name), "IMPERSONATES", False)


def vendor_names() -> tuple[str, ...]:
    """All types that have a fake."""
    return tuple(sorted(file.stem.replace("_", "-") for file in Path(__file__).parent.glob("[!_]*.py")))


def payload(type_name: str, name: str) -> bytes:
    """A recorded answer: tests/payloads/<type_name>/<name>."""
    return (PAYLOADS / type_name / name).read_bytes()
