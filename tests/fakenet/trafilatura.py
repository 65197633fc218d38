"""The web as the local reader sees it. The pages are those of `_web.py`; there is no vendor behind this type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import RobotsQuery, Role, Target
from providers._registry import lookup
from tests.fakenet._remote import HandlerOf
from tests.fakenet._vendor import Case

REMOTES: dict[str, HandlerOf] = {}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("trafilatura")()


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {}


CASES = (
    Case(
        Role.READ,
        "web",
        lambda urls: Target(f"{urls['web']}/article/type-k/1"),
        good="ok.html",
        content_type="text/html; charset=utf-8",
        table="site",
    ),
    Case(
        Role.ROBOTS,
        "web",
        lambda urls: RobotsQuery(f"{urls['web']}/article/type-k/1"),
        good="robots.txt",
        content_type="text/plain",
        table="any",
    ),
)
