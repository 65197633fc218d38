"""Transcripts of YouTube's videos by the player API of its Android app, without a key (yt-dlp, youtube-transcript-api,
read 2026-08; there is no documentation).

Two requests a video: the player's answer with title, description and tracks, then the track of the spoken language.
Never a machine translation. `hl` must be `en`: reasons and track names are compared in English. Addresses of data
centres are often refused with a request to sign in; a track that wants a token (`exp=xpe`) would be answered with an
empty 200. A client version that is too old is refused, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from providers._contract import (
    Blocked,
    Empty,
    Malformed,
    NotFound,
    Page,
    ProviderError,
    RateLimited,
    Signals,
    Target,
    Unsupported,
)
from providers._extract.escape import escape, escape_lines
from providers._registry import register
from providers._snippets import plain, snippet, title
from providers._videos import Cue, clock, transcript, video_id
from providers._wire import Rule, ask, digest

APP_VERSION = "21.26.364"
MAX_REASON_CHARS = 120
MAX_DESCRIPTION_CHARS = 20_000
LIMITED_SECONDS = 600.0
"""`Try again later` means up to an hour; after this long one request finds out."""

RULES = (Rule(Blocked, status=403, detail="refused to this address"),)


@dataclass(frozen=True, slots=True)
class Track:
    """Captions: the signed query of their address, their language, and whether a machine wrote them."""

    query: str
    language: str
    is_automatic: bool


@dataclass(frozen=True, slots=True)
class Video:
    """What the player says of a video. seconds: its length, 0 where it does not say."""

    title: str
    author: str
    description: str
    seconds: int
    track: Track | None


@register("youtube")
@dataclass(frozen=True, slots=True)
class Youtube:
    """Reads videos. `url` is the site's base; `version` that of the app it speaks as."""

    url: str = field(default="https://www.youtube.com", repr=False)
    version: str = APP_VERSION

    def accepts(self, target: Target) -> bool:
        return video_id(target.url) is not None

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        """The video's page: description and transcript; the description alone where there are no captions."""
        video = video_id(target.url)
        if video is None:
            raise Unsupported("no video")
        found = await self._player(video, client)
        text = "" if found.track is None else await self._words(found.track, client)
        return to_page(target.url, found, text)

    async def _player(self, video: str, client: httpx.AsyncClient) -> Video:
        app = {
            "clientName": "ANDROID", "clientVersion": self.version, "androidSdkVersion": 30, "osName": "Android",
            "osVersion": "11", "hl": "en", "gl": "US",
        }  # fmt: skip
        headers = {
            "user-agent": f"com.google.android.youtube/{self.version} (Linux; U; Android 11) gzip",
            "x-youtube-client-name": "3",
            "x-youtube-client-version": self.version,
        }
        response = await ask(
            client, "POST", self.url.rstrip("/") + "/youtubei/v1/player", params={"prettyPrint": "false"},
            headers=headers, json={"context": {"client": app}, "videoId": video}, rules=RULES,
        )  # fmt: skip
        if _is_markup(response.content) and b"recaptcha" in response.content:
            raise Blocked("captcha")
        return await digest(response.content, _VideoOf(video))

    async def _words(self, track: Track, client: httpx.AsyncClient) -> str:
        # Host and path are ours: the player's answer decides on the query only.
        address = f"{self.url.rstrip('/')}/api/timedtext?{track.query}"
        response = await ask(client, "GET", address, rules=RULES)
        if not response.content.strip() or _is_markup(response.content):
            raise Blocked("captions withheld from this address")
        return await digest(response.content, parse_words)


def _is_markup(body: bytes) -> bool:
    return body.lstrip()[:1] == b"<"


# --- the player's answer ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _VideoOf:
    """Reads the answer for a video; an object and not a closure, so that it can be sent to a worker."""

    video: str

    def __call__(self, reply: Any) -> Video:
        return parse_video(reply, self.video)


def parse_video(reply: Any, video: str) -> Video:
    """What the player says of `video`. Raises why it may not be seen from here."""
    error = _refusal(reply["playabilityStatus"])
    if error is not None:
        raise error
    details = reply["videoDetails"]
    if details["videoId"] != video:
        raise Malformed("answered with another video")
    length = str(details.get("lengthSeconds") or "0")
    return Video(
        title=title(details.get("title")),
        author=title(details.get("author")),
        description=_text_of(details.get("shortDescription"))[:MAX_DESCRIPTION_CHARS],
        seconds=int(length) if re.fullmatch(r"[0-9]{1,7}", length) else 0,
        track=pick_track(reply),
    )


def _refusal(playability: dict[str, Any]) -> ProviderError | None:
    """Why a video is not played; None where it is. Reasons are searched for what stands in them for years already."""
    status = playability["status"]
    screen = playability.get("errorScreen") or {}
    renderer = screen.get("playerErrorMessageRenderer") or {}
    reason = " ".join(filter(None, (_named(playability.get("reason")), _named(renderer.get("subreason")))))
    text = reason.lower().replace("\u2019", "'")
    if "playerCaptchaViewModel" in screen or "not a bot" in text:
        return Blocked("this address is asked to prove that it is no robot")
    if "content isn't available, try again later" in text:
        return RateLimited("try again later", retry_after=LIMITED_SECONDS)
    if status == "OK":
        return None
    if "latest version" in text or "not available on this app" in text:
        return Malformed("the app's version is too old")
    if "not made this video available in your country" in text:
        return Unsupported("video is not available in this server's country")
    if _is_for_adults(status, text, playability):
        return Unsupported("video is age-restricted")
    if "private" in text:
        return Unsupported("video is private")
    return _by_status(status, reason, text)


def _is_for_adults(status: str, text: str, playability: dict[str, Any]) -> bool:
    asks = ("confirm your age", "age-restricted", "inappropriate")
    by_status = status in ("AGE_VERIFICATION_REQUIRED", "AGE_CHECK_REQUIRED")
    return by_status or playability.get("desktopLegacyAgeGateReason") == 1 or any(words in text for words in asks)


def _by_status(status: str, reason: str, text: str) -> ProviderError:
    said = plain(reason)[:MAX_REASON_CHARS]
    match status:
        case "ERROR" if "unavailable" in text or "removed" in text:
            return NotFound("video is unavailable")
        case "LIVE_STREAM_OFFLINE":
            return Empty("video has not begun yet")
        case "LOGIN_REQUIRED" | "CONTENT_CHECK_REQUIRED" | "UNPLAYABLE" | "ERROR":
            return Unsupported(f"not playable: {said}" if said else "not playable")
    return Malformed("state of the video is not known")


def _named(value: Any) -> str:
    """A text in any of its three forms."""
    if isinstance(value, dict):
        if "runs" in value:
            return "".join(_text_of(run.get("text")) for run in value["runs"])
        value = value.get("simpleText")
    return _text_of(value)


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


# --- the track --------------------------------------------------------------------------------------------------------

_REGION = re.compile(r"[a-z]{2,3}-([a-z]{2}|[0-9]{3})")


def pick_track(reply: Any) -> Track | None:
    """The captions in the language that is spoken, written by people where there are any; None without captions.

    Raises Blocked where they are there and would not be given to us.
    """
    renderer = (reply.get("captions") or {}).get("playerCaptionsTracklistRenderer") or {}
    tracks = renderer.get("captionTracks") or []
    if not tracks:
        return None
    spoken = _spoken_language(reply, renderer, tracks)
    manual = [track for track in tracks if track.get("kind") != "asr"]
    automatic = [track for track in tracks if track.get("kind") == "asr"]
    chosen = None
    if spoken is not None:
        chosen = _in_language(manual, spoken) or _in_language(automatic, spoken)
    if chosen is None:
        chosen = _default(renderer, tracks) or (manual or tracks)[0]
    return Track(_query(chosen["baseUrl"]), str(chosen["languageCode"]), chosen.get("kind") == "asr")


def _spoken_language(reply: Any, renderer: dict[str, Any], tracks: list[dict[str, Any]]) -> str | None:
    """By the audio tracks' ids (`.4` is the original), their names, or the only automatic captions there are."""
    audio = [each["audioTrack"] for each in _formats(reply) if isinstance(each.get("audioTrack"), dict)]
    ids = {each.get("audioTrackId") for each in renderer.get("audioTracks") or []} | {each.get("id") for each in audio}
    originals = {each for each in ids if isinstance(each, str) and each.endswith(".4")}
    if not originals:
        originals = {each.get("id") for each in audio if "original" in _text_of(each.get("displayName")).lower()}
    if len(originals) > 1:
        return None
    for original in originals:
        if isinstance(original, str) and "." in original:
            return original.rpartition(".")[0]
    heard = [str(track["languageCode"]) for track in tracks if track.get("kind") == "asr"]
    return heard[0] if len(heard) == 1 else None


def _formats(reply: Any) -> list[dict[str, Any]]:
    formats: list[dict[str, Any]] = (reply.get("streamingData") or {}).get("adaptiveFormats") or []
    return formats


def _in_language(tracks: list[dict[str, Any]], language: str) -> dict[str, Any] | None:
    """The track nearest to a language: the same, else one of its regions, the bare language, one with its own name."""
    wanted = language.lower()
    ranked = []
    for place, track in enumerate(tracks):
        code = str(track["languageCode"]).lower()
        if code == wanted:
            ranked.append((0, place))
        elif code.partition("-")[0] == wanted.partition("-")[0]:
            ranked.append((1 if _REGION.fullmatch(code) else 2 if "-" not in code else 3, place))
    return tracks[min(ranked)[1]] if ranked else None


def _default(renderer: dict[str, Any], tracks: list[dict[str, Any]]) -> dict[str, Any] | None:
    audio = renderer.get("audioTracks") or []
    place = renderer.get("defaultAudioTrackIndex") or 0
    if not 0 <= place < len(audio):
        return None
    track = audio[place].get("defaultCaptionTrackIndex")
    return tracks[track] if isinstance(track, int) and 0 <= track < len(tracks) else None


def _query(address: str) -> str:
    """The signed query of a track's address, for JSON. Raises Blocked where it wants a token we have not."""
    parts = urlsplit(address)
    if parts.path != "/api/timedtext":
        raise Malformed("address of the captions is another one")
    if set(parse_qs(parts.query).get("exp", ())) & {"xpe", "xpv"}:
        raise Blocked("captions want a token")
    kept = [pair for pair in parts.query.split("&") if pair.partition("=")[0] not in ("fmt", "xosf", "tlang")]
    return "&".join([*kept, "fmt=json3"])


# --- the captions, and the page ---------------------------------------------------------------------------------------


def parse_words(reply: Any) -> str:
    """The transcript in an answer as `json3`: one text, since thousands of captions would hold the loop to receive."""
    return transcript(_cues(reply["events"]))


def _cues(events: list[dict[str, Any]]) -> Iterator[Cue]:
    """The captions. Events without segments define windows; those of a newline fill gaps."""
    for event in events:
        text = "".join(segment.get("utf8", "") for segment in event.get("segs") or ())
        if text.strip():
            yield Cue(event.get("tStartMs", 0) + 0, text)


def to_page(url: str, video: Video, text: str) -> Page:
    """Description and transcript as Markdown. Raises Empty for a video that has neither."""
    description = escape_lines(escape(video.description.strip()))
    if not text and not description:
        raise Empty("no transcript and no description")
    length = clock(video.seconds * 1000) if video.seconds else ""
    facts = ", ".join(filter(None, (escape(video.author), length)))
    parts = [f"# {escape(video.title)}" if video.title else "", facts, description]
    track = video.track if text else None
    if track is not None:
        made = ", automatic" if track.is_automatic else ""
        parts += [f"## Transcript ({track.language}{made})", text]
    return Page(
        url=url,
        final_url=url,
        markdown="\n\n".join(filter(None, parts)),
        title=video.title,
        byline=video.author,
        site_name="YouTube",
        language=track.language if track is not None else None,
        excerpt=snippet(video.description),
        signals=Signals(document=True),
    )
