"""YouTube's player API and its timed text as vendors/youtube.md describes them (sections 2, 3, 4 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Kind, Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json, as_text
from tests.fakenet._vendor import Case
from tests.fakenet._world import SENTENCES, World

GONE, SILENT, BOT = "ggggggggggg", "sssssssssss", "ccccccccccc"
"""Ids of a video that was removed, of one without captions, and of one that asks to sign in."""
OLDEST = (20, 0, 0)


class Youtube:
    """Handler of the player and of timed text."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, request: Request) -> Answer:
        if request.method == "POST" and request.path == "/youtubei/v1/player":
            return self._player(request.json)
        if request.method == "GET" and request.path == "/api/timedtext":
            return self._timed_text(request.query)
        return as_text("Not found", 404)

    def _player(self, body: Mapping[str, Any]) -> Answer:
        app, video = body["context"]["client"], body["videoId"]
        version = tuple(int(part) for part in app["clientVersion"].split("."))
        if app["clientName"] != "ANDROID" or version < OLDEST:
            screen = {
                "playerErrorMessageRenderer": {"subreason": {"simpleText": "Watch on the latest version of YouTube."}}
            }
            return _refused("ERROR", "Video unavailable", errorScreen=screen)
        if video == GONE:
            return _refused("ERROR", "This video is unavailable")
        if video == BOT:
            return _refused("LOGIN_REQUIRED", "Sign in to confirm you\u2019re not a bot")
        details = {
            "videoId": video, "title": f"A talk ({video})", "lengthSeconds": "24", "author": "A Channel",
            "shortDescription": "What the talk is about.", "viewCount": "1", "isLiveContent": False,
        }  # fmt: skip
        found: dict[str, Any] = {"playabilityStatus": {"status": "OK"}, "videoDetails": details}
        if video != SILENT:
            found["captions"] = {"playerCaptionsTracklistRenderer": _tracks(video)}
        return as_json(found)

    def _timed_text(self, query: Mapping[str, str]) -> Answer:
        if query.get("exp") in ("xpe", "xpv") or not query.get("sig"):
            return Answer(200, b"", "text/html; charset=UTF-8")
        if query.get("fmt") != "json3":
            return Answer(200, b'<timedtext format="3"><body></body></timedtext>', "text/xml")
        lines = [sentence.format(topic="a talk", number=1) for sentence in SENTENCES]
        events: list[dict[str, Any]] = [{"tStartMs": 0, "dDurationMs": 24000, "id": 1}]
        for place, line in enumerate(lines):
            start = place * 4000
            events.append({"tStartMs": start, "dDurationMs": 4200, "segs": [{"utf8": line, "acAsrConf": 0}]})
            events.append({"tStartMs": start + 3000, "aAppend": 1, "segs": [{"utf8": "\n"}]})
        return as_json({"wireMagic": "pb3", "events": events})


def _tracks(video: str) -> dict[str, Any]:
    track = {
        "baseUrl": f"https://www.youtube.com/api/timedtext?v={video}&sig=S&kind=asr&lang=en&fmt=srv3",
        "name": {"runs": [{"text": "English (auto-generated)"}]}, "vssId": "a.en", "languageCode": "en", "kind": "asr",
    }  # fmt: skip
    return {"captionTracks": [track], "audioTracks": [{"captionTrackIndices": [0]}], "defaultAudioTrackIndex": 0}


def _refused(status: str, reason: str, **more: Any) -> Answer:
    return as_json({"playabilityStatus": {"status": status, "reason": reason} | more})


REMOTES = {"youtube": Youtube}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("youtube")(url=urls["youtube"])


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"YOUTUBE_BASE_URL": urls["youtube"]}


CASES = (
    Case(
        Role.READ,
        "youtube",
        lambda urls: Target("https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        good="player.json",
        path="^/youtubei/",
        expected={"403": Kind.BLOCKED},  # section 7: there is no key that could be refused
    ),
)
