"""Groq: Whisper over media at a public address. Reference: https://console.groq.com/docs/speech-to-text (read 2026-10).

Groq fetches the media itself, from its own address, and follows no redirect: nothing is downloaded here. The request
has to be a multipart form though there is no file. Each one is billed for at least ten seconds. Media may have 25 MB
(free tier) or 100 MB. Languages come as English names. Silence and music are heard as short phrases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpx

from providers._address import InvalidUrl, NotAllowed, parse_url
from providers._contract import Denied, Malformed, TooLarge, Unavailable, Unsupported
from providers._videos import Cue, transcript
from providers._wire import Rule, ask, digest

URL = "https://api.groq.com/openai/v1/audio/transcriptions"
MODEL = "whisper-large-v3-turbo"
REMOTE = "groq"
MAX_MEDIA_CHARS = 8_192

NO_SPEECH, UNSURE = 0.6, -1.0
"""Beyond both of these a segment is nothing that was said; Whisper's own thresholds."""

RULES = (
    Rule(TooLarge, field="error.code", value="media_too_large", detail="media too large to be transcribed"),
    Rule(TooLarge, status=400, needle="media file too large", detail="media too large to be transcribed"),
    Rule(TooLarge, status=413, detail="media too large to be transcribed"),
    Rule(Unsupported, status=400, needle="failed to retrieve media", detail="media withheld from the transcriber"),
    Rule(Unsupported, status=400, needle="must be one of the following types", detail="type of the media not known"),
    Rule(Denied, status=401, detail="key refused"),
    Rule(Unsupported, status=422, detail="media cannot be transcribed"),
    Rule(Unavailable, status=424, detail="status 424"),
    Rule(Unavailable, status=498, detail="no capacity"),
    Rule(Unavailable, status=499, detail="status 499"),
)


@dataclass(frozen=True, slots=True)
class Speech:
    """What was said, in paragraphs with their times; `language` a code, None where it is not known."""

    text: str
    language: str | None


async def transcribe(client: httpx.AsyncClient, url: str, key: str, media: str) -> Speech:
    """What is said in the media at the address `media`.

    Raises Unsupported or TooLarge where the media cannot be had or heard, and typed errors of the account and of Groq.
    """
    form = {"model": MODEL, "url": _checked(media), "response_format": "verbose_json", "temperature": "0"}
    headers = {"authorization": f"Bearer {key}", "accept": "application/json"}
    response = await ask(client, "POST", url, headers=headers, parts=form, rules=RULES, remote=REMOTE)
    return await digest(response.content, parse_speech)


def _checked(media: str) -> str:
    """The address, if a third party may be told of it. It is signed, so it leaves as it is."""
    try:
        parse_url(media, limit=MAX_MEDIA_CHARS)
    except (InvalidUrl, NotAllowed):
        raise Unsupported("address of the media is not public") from None
    return media


def parse_speech(reply: Any) -> Speech:
    """The transcript in an answer, empty where nothing was said."""
    if not isinstance(reply["text"], str):
        raise Malformed("transcript is no text")
    segments = reply.get("segments")
    cues = tuple(_cues(segments)) if isinstance(segments, list) else (Cue(0, reply["text"]),)
    return Speech(transcript(cues), language_code(reply.get("language")))


def _cues(segments: list[Any]) -> Iterator[Cue]:
    for segment in segments:
        text, start = segment["text"], segment.get("start", 0)
        if not isinstance(text, str) or isinstance(start, bool) or not isinstance(start, int | float):
            raise Malformed("a piece of the transcript is none")
        if _is_heard(segment):
            yield Cue(start * 1000, text)


def _is_heard(segment: dict[str, Any]) -> bool:
    silence, sureness = segment.get("no_speech_prob"), segment.get("avg_logprob")
    if not isinstance(silence, int | float) or not isinstance(sureness, int | float):
        return True
    return silence <= NO_SPEECH or sureness >= UNSURE


def language_code(name: object) -> str | None:
    """The code of a language that Whisper names; a code it knows stays what it is."""
    if not isinstance(name, str):
        return None
    text = name.strip().lower()
    return text if text in _CODES else _LANGUAGES.get(text)


# The languages of Whisper's tokenizer, by their English names.
_NAMES = """
english en, chinese zh, german de, spanish es, russian ru, korean ko, french fr, japanese ja, portuguese pt,
turkish tr, polish pl, catalan ca, dutch nl, arabic ar, swedish sv, italian it, indonesian id, hindi hi,
finnish fi, vietnamese vi, hebrew he, ukrainian uk, greek el, malay ms, czech cs, romanian ro, danish da,
hungarian hu, tamil ta, norwegian no, thai th, urdu ur, croatian hr, bulgarian bg, lithuanian lt, latin la,
maori mi, malayalam ml, welsh cy, slovak sk, telugu te, persian fa, latvian lv, bengali bn, serbian sr,
azerbaijani az, slovenian sl, kannada kn, estonian et, macedonian mk, breton br, basque eu, icelandic is,
armenian hy, nepali ne, mongolian mn, bosnian bs, kazakh kk, albanian sq, swahili sw, galician gl, marathi mr,
punjabi pa, sinhala si, khmer km, shona sn, yoruba yo, somali so, afrikaans af, occitan oc, georgian ka,
belarusian be, tajik tg, sindhi sd, gujarati gu, amharic am, yiddish yi, lao lo, uzbek uz, faroese fo,
haitian creole ht, pashto ps, turkmen tk, nynorsk nn, maltese mt, sanskrit sa, luxembourgish lb, myanmar my,
tibetan bo, tagalog tl, malagasy mg, assamese as, tatar tt, hawaiian haw, lingala ln, hausa ha, bashkir ba,
javanese jv, sundanese su, cantonese yue
"""
_LANGUAGES = MappingProxyType(dict(pair.strip().rsplit(" ", 1) for pair in _NAMES.split(",")))
_CODES = frozenset(_LANGUAGES.values())
