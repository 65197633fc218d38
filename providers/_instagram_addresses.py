"""Addresses of Instagram's posts and profiles, and what a post's code says by itself. Pure (yt-dlp, read 2026-08)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from urllib.parse import parse_qs, quote, urlsplit

HOSTS = frozenset(("instagram.com", "www.instagram.com", "m.instagram.com", "instagr.am", "www.instagr.am"))
SITE = "https://www.instagram.com"
PRIVATE_SHARE_CHARS = 28
"""A code longer than this is that of a private share: as many characters at its end are no part of the post's."""

CURSOR = re.compile(r"[A-Za-z0-9_=+/.:|-]{1,1000}")
"""Where the next posts of a profile begin, as the site tells it; base64 mostly."""

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_EPOCH_MS = 1_314_220_021_721  # milliseconds since 1970 that the site's ids count from

_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_USER = re.compile(r"[A-Za-z0-9._]{1,30}")
_RESERVED = frozenset(
    (
        "p", "reel", "reels", "tv", "explore", "stories", "accounts", "direct", "about", "legal", "developer", "share",
        "web", "api", "popular", "emails", "challenge", "graphql", "robots.txt", "favicon.ico",
    )
)  # fmt: skip
_POST_FOLDERS = ("p", "reel", "reels", "tv")
_USERS_FOLDERS = ("p", "reel")
_SHARE_FOLDERS = ("p", "reel")
_TABS = ("reels", "tagged")
_NO_CODES = ("audio",)  # `/reels/audio/` leads to sounds


@dataclass(frozen=True, slots=True)
class Post:
    """A post by its code, as the site's own address of it has it."""

    code: str

    @property
    def url(self) -> str:
        return f"{SITE}/p/{self.code}/"

    @property
    def pk(self) -> int:
        """The id of the post: its code, read as a number to the base of 64."""
        number = 0
        for character in self.code:
            number = number * 64 + _VALUES[character]
        return number


@dataclass(frozen=True, slots=True)
class Share:
    """An address out of the `share` button: a redirect leads to the post. path: without slashes around it."""

    path: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A user's posts, from `after` on; "" for the latest."""

    user: str
    after: str = ""

    @property
    def url(self) -> str:
        rest = f"?after={quote(self.after, safe='')}" if self.after else ""
        return f"{SITE}/{self.user}/{rest}"


def post_at(url: str) -> Post | Share | None:
    """The post that an address stands for; None for everything else."""
    segments = _segments(url)
    if len(segments) == 3 and _is_user(segments[0]) and segments[1] in _USERS_FOLDERS:
        return _post(segments[2])
    if len(segments) == 2 and segments[0] in _POST_FOLDERS:
        return _post(segments[1])
    return _share(segments)


def _share(segments: list[str]) -> Share | None:
    is_one = len(segments) == 2 or (len(segments) == 3 and segments[1] in _SHARE_FOLDERS)
    if not is_one or segments[0] != "share" or segments[-1] in _SHARE_FOLDERS:
        return None
    return Share("/".join(segments)) if _CODE.fullmatch(segments[-1]) else None


def profile_at(url: str) -> Profile | None:
    """The profile that an address stands for, its tabs included; None for everything else."""
    segments = _segments(url)
    is_tab = len(segments) == 2 and segments[1] in _TABS
    if not (len(segments) == 1 or is_tab) or not _is_user(segments[0]):
        return None
    after = parse_qs(urlsplit(url).query).get("after", [""])[0]
    return Profile(segments[0], after if CURSOR.fullmatch(after) else "")


def _segments(url: str) -> list[str]:
    """The parts of the path of an address of the site's; none for any other address, and for the front page."""
    try:
        parts = urlsplit(url)
        host, is_plain = (parts.hostname or "").rstrip("."), not parts.username and parts.port in (None, 80, 443)
    except ValueError:
        return []
    if parts.scheme not in ("http", "https") or host not in HOSTS or not is_plain:
        return []
    path = parts.path.removeprefix("/").removesuffix("/")
    return path.split("/") if path else []


def _is_user(name: str) -> bool:
    return _USER.fullmatch(name) is not None and name.lower() not in _RESERVED


def _post(text: str) -> Post | None:
    if not _CODE.fullmatch(text) or text in _NO_CODES:
        return None
    code = text[:-PRIVATE_SHARE_CHARS] if len(text) > PRIVATE_SHARE_CHARS else text
    return Post(code)


def published(pk: int) -> str | None:
    """The ISO date on which the post with this id was made; None where it names no day."""
    try:
        made: date = datetime.fromtimestamp(((pk >> 23) + _EPOCH_MS) / 1000, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    return made.isoformat()
