"""What the youtube type sends, which track it takes, and what becomes of videos that may not be seen."""

from __future__ import annotations

import copy
import json

import httpx
import pytest
import respx

from providers import _workers
from providers._contract import (
    Blocked,
    Empty,
    Malformed,
    NotFound,
    RateLimited,
    Target,
    Unavailable,
    Unsupported,
)
from providers._registry import lookup
from providers.youtube import parse_video, parse_words, pick_track
from tests.fakenet import payload

PLAYER, TIMED_TEXT = "https://www.youtube.com/youtubei/v1/player", "https://www.youtube.com/api/timedtext"
ID = "dQw4w9WgXcQ"
VIDEO = Target(f"https://youtu.be/{ID}")
SAMPLE = json.loads(payload("youtube", "player.json"))


@pytest.fixture
def youtube():
    return lookup("youtube")()


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def sample() -> dict:
    return copy.deepcopy(SAMPLE)


async def test_talk_is_read_with_its_description_and_the_captions_of_its_language(youtube, router, client):
    player = router.post(PLAYER).mock(return_value=httpx.Response(200, json=SAMPLE))
    words = router.get(TIMED_TEXT).mock(return_value=httpx.Response(200, content=payload("youtube", "timedtext.json")))

    page = await youtube.read(VIDEO, client)

    sent = json.loads(player.calls.last.request.content)
    assert sent["videoId"] == ID
    assert (sent["context"]["client"]["clientName"], sent["context"]["client"]["hl"]) == ("ANDROID", "en")
    assert player.calls.last.request.headers["x-youtube-client-name"] == "3"
    assert words.calls.last.request.url.query == b"v=dQw4w9WgXcQ&sig=A%2FB&kind=asr&lang=en&fmt=json3"
    assert page.markdown.split("\n\n") == [
        "# Sample talk",
        "Sample Channel, 3:32",
        "Line one\nLine \\*two\\*",
        "## Transcript (en, automatic)",
        "[0:00] hello world [Music]",
    ]
    assert (page.title, page.byline, page.language) == ("Sample talk", "Sample Channel", "en")
    assert (page.url, page.signals.document, page.evidence) == (VIDEO.url, True, None)


async def test_video_without_captions_gives_its_description(youtube, router, client):
    found = sample()
    del found["captions"]
    router.post(PLAYER).mock(return_value=httpx.Response(200, json=found))

    page = await youtube.read(VIDEO, client)

    assert "Line one" in page.markdown
    assert "Transcript" not in page.markdown
    assert page.language is None


async def test_video_with_neither_captions_nor_description_is_empty(youtube, router, client):
    found = sample()
    del found["captions"]
    found["videoDetails"]["shortDescription"] = ""
    router.post(PLAYER).mock(return_value=httpx.Response(200, json=found))

    with pytest.raises(Empty):
        await youtube.read(VIDEO, client)


# --- the track --------------------------------------------------------------------------------------------------------


def track(code: str, kind: str | None = None) -> dict:
    named = {"baseUrl": f"https://www.youtube.com/api/timedtext?lang={code}&kind={kind}", "languageCode": code}
    return named if kind is None else named | {"kind": kind}


def player(tracks: list, audio: list | None = None, default: int | None = None, formats: list | None = None) -> dict:
    renderer = {"captionTracks": tracks, "audioTracks": audio or []}
    if default is not None:
        renderer["defaultAudioTrackIndex"] = default
    streams = [{"itag": 140, "audioTrack": each} for each in formats or []]
    return {"captions": {"playerCaptionsTracklistRenderer": renderer}, "streamingData": {"adaptiveFormats": streams}}


ORIGINAL_DE = [{"audioTrackId": "de-DE.4"}, {"audioTrackId": "en.10"}]


@pytest.mark.parametrize(
    ("reply", "language", "is_automatic"),
    [
        # People's captions in the language that is spoken go before the machine's.
        (player([track("en"), track("de", "asr"), track("de")], ORIGINAL_DE), "de", False),
        (player([track("en"), track("de", "asr"), track("en", "asr")], ORIGINAL_DE), "de", True),
        # One automatic track says what is spoken.
        (player([track("ar"), track("en"), track("en", "asr")]), "en", False),
        (player([track("ar"), track("fr", "asr")]), "fr", True),
        # By the name, where no id ends in .4.
        (
            player(
                [track("de", "asr"), track("ja", "asr")],
                formats=[{"id": "ja.3", "displayName": "Japanese original"}, {"id": "de.10", "displayName": "German"}],
            ),
            "ja",
            True,
        ),
        # Two originals, or several automatic tracks: unknown, so the default of the default audio.
        (
            player(
                [track("en", "asr"), track("de", "asr")],
                [{"audioTrackId": "en.4"}, {"audioTrackId": "de.4", "defaultCaptionTrackIndex": 1}],
                1,
            ),
            "de",
            True,
        ),
        # Unknown and no default: the first that people wrote, else the first.
        (player([track("en", "asr"), track("de", "asr"), track("pl")]), "pl", False),
        (player([track("en", "asr"), track("de", "asr")]), "en", True),
        # Spoken, but without captions of its own.
        (player([track("fr")], [{"audioTrackId": "de.4"}]), "fr", False),
        # Nearest: the same, then a region, then the bare language, then a custom name.
        (player([track("es"), track("es-419"), track("es-abc123")], [{"audioTrackId": "es-ES.4"}]), "es-419", False),
        (player([track("es-abc123"), track("es")], [{"audioTrackId": "es-ES.4"}]), "es", False),
        (player([track("pt"), track("pt-BR")], [{"audioTrackId": "pt-br.4"}]), "pt-BR", False),
    ],
)
def test_track_is_the_one_of_the_spoken_language(reply, language, is_automatic):
    chosen = pick_track(reply)

    assert (chosen.language, chosen.is_automatic) == (language, is_automatic)


@pytest.mark.parametrize("reply", [{}, {"captions": None}, player([])])
def test_no_captions_is_no_track(reply):
    assert pick_track(reply) is None


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("https://www.youtube.com/api/timedtext?exp=xpe&lang=en", Blocked),
        ("https://www.youtube.com/api/timedtext?lang=en&exp=xpv", Blocked),
        ("https://www.youtube.com/elsewhere?lang=en", Malformed),
    ],
)
def test_captions_that_would_not_be_given_are_not_asked_for(address, error):
    with pytest.raises(error):
        pick_track(player([{"baseUrl": address, "languageCode": "en"}]))


def test_address_of_captions_keeps_its_signature_and_never_a_translation():
    address = "https://evil.example/api/timedtext?sig=A%2FB%3D&tlang=fr&fmt=srv3&lang=en"

    assert pick_track(player([{"baseUrl": address, "languageCode": "en"}])).query == "sig=A%2FB%3D&lang=en&fmt=json3"


def test_windows_and_newlines_are_no_cues():
    reply = json.loads(payload("youtube", "timedtext.json"))

    assert parse_words(reply) == "[0:00] hello world [Music]"


async def test_long_transcript_comes_back_from_the_worker_as_one_text(youtube, router, client, monkeypatch):
    came_back = []

    async def run(function, *args):
        came_back.append(function(*args))
        return came_back[0]

    monkeypatch.setattr(_workers, "run", run)
    events = [{"tStartMs": number * 1000, "segs": [{"utf8": f"sentence {number}."}]} for number in range(5_000)]
    router.post(PLAYER).mock(return_value=httpx.Response(200, json=SAMPLE))
    router.get(TIMED_TEXT).mock(return_value=httpx.Response(200, json={"events": events}))

    page = await youtube.read(VIDEO, client)

    assert [type(value) for value in came_back] == [str]
    assert "sentence 4999." in page.markdown


# --- what may not be seen ---------------------------------------------------------------------------------------------


def refused(status: str, reason: object = None, subreason: object = None, **more: object) -> dict:
    playability = {"status": status, "reason": reason} | more
    if subreason is not None:
        playability["errorScreen"] = {"playerErrorMessageRenderer": {"subreason": subreason}}
    return {"playabilityStatus": playability}


COUNTRY = "The uploader has not made this video available in your country"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refused("LOGIN_REQUIRED", "Sign in to confirm you\u2019re not a bot"), Blocked),
        (refused("OK", errorScreen={"playerCaptchaViewModel": {}}), Blocked),
        (refused("UNPLAYABLE", "This content isn\u2019t available, try again later."), RateLimited),
        (refused("LOGIN_REQUIRED", "This video may be inappropriate for some users."), Unsupported),
        (refused("LOGIN_REQUIRED", "Sign in", desktopLegacyAgeGateReason=1), Unsupported),
        (refused("AGE_VERIFICATION_REQUIRED"), Unsupported),
        (refused("AGE_CHECK_REQUIRED"), Unsupported),
        (refused("UNPLAYABLE", "Sign in to confirm your age"), Unsupported),
        (refused("LOGIN_REQUIRED", "This is a private video."), Unsupported),
        (refused("ERROR", "This video is unavailable"), NotFound),
        (
            refused("ERROR", "Video unavailable", {"runs": [{"text": "This video has been "}, {"text": "removed"}]}),
            NotFound,
        ),
        (refused("ERROR", "Video unavailable", {"simpleText": "Watch on the latest version of YouTube."}), Malformed),
        (refused("ERROR", "The following content is not available on this app."), Malformed),
        (refused("UNPLAYABLE", "Video unavailable", {"simpleText": COUNTRY}), Unsupported),
        (refused("UNPLAYABLE", "Join this channel to get access to members-only content"), Unsupported),
        (refused("UNPLAYABLE"), Unsupported),
        (refused("ERROR", "Something else"), Unsupported),
        (refused("LIVE_STREAM_OFFLINE", "Premieres in 2 hours"), Empty),
        (refused("CONTENT_CHECK_REQUIRED"), Unsupported),
        (refused("NEW_STATE"), Malformed),
        (sample() | {"videoDetails": SAMPLE["videoDetails"] | {"videoId": "aaaaaaaaaaa"}}, Malformed),
    ],
)
def test_each_state_of_a_video_gives_its_kind(reply, error):
    with pytest.raises(error):
        parse_video(reply, ID)


def test_reason_of_an_unplayable_video_is_passed_on():
    with pytest.raises(Unsupported, match="not playable: Join this channel"):
        parse_video(refused("UNPLAYABLE", "Join this channel"), ID)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(429), RateLimited),
        (httpx.Response(403), Blocked),
        (httpx.Response(500), Unavailable),
        (httpx.Response(200, html='<form><div class="g-recaptcha"></div></form>'), Blocked),
        (httpx.Response(200, html="<p>else</p>"), Malformed),
    ],
)
async def test_player_that_is_refused_gives_its_kind(youtube, router, client, answer, error):
    router.post(PLAYER).mock(return_value=answer)

    with pytest.raises(error):
        await youtube.read(VIDEO, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, content=b""), Blocked),
        (httpx.Response(200, html="<html></html>"), Blocked),
        (httpx.Response(429), RateLimited),
        (httpx.Response(200, json={"events": 7}), Malformed),
    ],
)
async def test_captions_that_are_withheld_are_no_missing_transcript(youtube, router, client, answer, error):
    router.post(PLAYER).mock(return_value=httpx.Response(200, json=SAMPLE))
    router.get(TIMED_TEXT).mock(return_value=answer)

    with pytest.raises(error):
        await youtube.read(VIDEO, client)


async def test_only_videos_are_accepted(youtube, client):
    other = Target("https://www.youtube.com/@handle")

    assert youtube.accepts(VIDEO)
    assert not youtube.accepts(other)
    with pytest.raises(Unsupported):
        await youtube.read(other, client)
