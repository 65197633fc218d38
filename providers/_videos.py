"""Addresses of YouTube videos, and transcripts as text: what the youtube and supadata readers share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import parse_qs, urlsplit

from providers._extract.escape import escape

MAX_CUES = 50_000
PARAGRAPH_MS = 45_000
"""From here on a paragraph ends with the next sentence, and at twice that where there are no sentences."""

_ID = re.compile(r"[A-Za-z0-9_-]{11}")
# Eleven characters each, and no videos.
_NO_IDS = ("videoseries", "live_stream")
_SENTENCE_END = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f", '."', '!"', '?"')

_FULL = ("youtube.com", "m.youtube.com")
_FOLDERS = MappingProxyType(
    {
        "shorts": _FULL,
        "live": _FULL,
        "embed": ("youtube.com", "youtube-nocookie.com"),
        "v": ("youtube.com", "youtube-nocookie.com"),
        "e": ("youtube.com", "youtube-nocookie.com"),
    }
)


def video_id(url: str) -> str | None:
    """The id of the video at an address; None where it is none of YouTube's forms of address of a video."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return None
    if parts.scheme not in ("http", "https"):
        return None
    segments = parts.path.strip("/").split("/")
    found = ""
    if host == "youtu.be" and len(segments) == 1:
        found = segments[0]
    elif host in (*_FULL, "music.youtube.com") and segments == ["watch"]:
        found = parse_qs(parts.query).get("v", [""])[0]
    elif len(segments) == 2 and host in _FOLDERS.get(segments[0], ()):
        found = segments[1]
    return found if _ID.fullmatch(found) and found not in _NO_IDS else None


def watch_url(video: str) -> str:
    return f"https://www.youtube.com/watch?v={video}"


@dataclass(frozen=True, slots=True)
class Cue:
    """A piece of a transcript and when it begins, in milliseconds."""

    start: float
    text: str


def transcript(cues: Iterable[Cue]) -> str:
    """Paragraphs, each with its time before it. A new speaker (`>>`) begins a new one."""
    paragraphs: list[tuple[float, list[str]]] = []
    for number, cue in enumerate(cues):
        if number == MAX_CUES:
            break
        text = " ".join(cue.text.split())
        if not text:
            continue
        if not paragraphs or _begins_another(cue.start - paragraphs[-1][0], paragraphs[-1][1][-1], text):
            paragraphs.append((cue.start, []))
        paragraphs[-1][1].append(text)
    return "\n\n".join(f"[{clock(start)}] {escape(' '.join(texts))}" for start, texts in paragraphs)


def _begins_another(passed: float, before: str, text: str) -> bool:
    if text.startswith(">>") or passed >= 2 * PARAGRAPH_MS:
        return True
    return passed >= PARAGRAPH_MS and before.endswith(_SENTENCE_END)


def clock(milliseconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, seconds = divmod(int(max(milliseconds, 0)) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
