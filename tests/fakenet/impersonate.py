"""The web as the impersonating reader sees it, after a first fetch that was refused. No vendor is behind this type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Evidence, Role, Target
from providers._registry import lookup
from tests.fakenet._remote import HandlerOf
from tests.fakenet._vendor import Case

REMOTES: dict[str, HandlerOf] = {}
IMPERSONATES = True


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("impersonate")()


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {}


def _refused(urls: Mapping[str, str]) -> Target:
    url = f"{urls['web']}/article/type-k/1"
    return Target(url, Evidence(url, "answered", 403))


CASES = (
    Case(
        Role.READ,
        "web",
        _refused,
        good="ok.html",
        content_type="text/html; charset=utf-8",
        table="site",
    ),
)
