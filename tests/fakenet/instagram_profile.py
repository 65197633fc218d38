"""The posts of a profile: the same site as in `instagram.py`, see vendors/instagram.md section 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Role, Target
from providers._registry import lookup
from tests.fakenet._vendor import Case
from tests.fakenet.instagram import EXPECTED, USER, Instagram

IMPERSONATES = True
REMOTES: dict[str, Any] = {"instagram": Instagram}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("instagram-profile")(url=urls["instagram"])


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"INSTAGRAM_PROFILE_BASE_URL": urls["instagram"]}


CASES = (
    Case(
        Role.READ,
        "instagram",
        lambda urls: Target(f"https://www.instagram.com/{USER}/"),
        good="posts.json",
        expected=EXPECTED,
    ),
)
