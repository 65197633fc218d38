"""A post of Instagram's, logged out: caption, author, date, and what is said in its video (yt-dlp, read 2026-08).

One query a post, then one transcription by Groq from the address of the audio track: nothing is downloaded here. Where
the query is retired the post's own page is read instead, which brings the same data along. A post without a video, or
with one that cannot be heard, is the second best: other readers go first. The site gives no number of views.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from lxml import etree

from providers import _workers
from providers._contract import (
    Blocked,
    Empty,
    Malformed,
    Page,
    ProviderError,
    Signals,
    Target,
    TooHeavy,
    TooLarge,
    Unsupported,
)
from providers._errors import parsing
from providers._extract.escape import escape, escape_lines
from providers._groq import URL as GROQ_URL
from providers._groq import Speech, transcribe
from providers._instagram import Question, data_in_page, open_page, question, redirect_of
from providers._instagram_addresses import SITE, Post, Share, post_at, published
from providers._registry import register
from providers._snippets import cut, plain, snippet, title
from providers._videos import clock
from providers._wire import raise_for_status

# In use from June to October 2026.
QUESTION = Question("PolarisLoggedOutDesktopWWWPostRootContentQuery", "27130156389949648")
ROOT = "xig_polaris_media"

MAX_CAPTION_CHARS = 20_000
MAX_CHILDREN = 20
MAX_REASON_CHARS = 120
VIDEO, CAROUSEL = 2, 8

_DURATION = re.compile(r"PT(?:(\d{1,3})H)?(?:(\d{1,4})M)?(?:(\d{1,6}(?:\.\d{1,9})?)S)?")


@dataclass(frozen=True, slots=True)
class Media:
    """A post's text, and its first video where it has one.

    published: an ISO date. track: the address of the video's sound, or of the video; None where there is nothing to
    hear. seconds: its length, 0 where that is not said. videos: how many there are. alts: what the pictures show, in
    the site's words.
    """

    user: str
    name: str
    caption: str
    published: str | None
    track: str | None
    seconds: float
    videos: int
    alts: tuple[str, ...]


@register("instagram")
@dataclass(frozen=True, slots=True)
class Instagram:
    """Reads posts. `key` is Groq's; `url` is the site's base."""

    key: str = field(repr=False)
    url: str = field(default=SITE, repr=False)
    groq_url: str = field(default=GROQ_URL, repr=False)

    def accepts(self, target: Target) -> bool:
        return post_at(target.url) is not None

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        """The post with its transcript; without one, a page marked as second best.

        Raises what keeps the post from being seen, and what keeps Groq from answering at all.
        """
        post = post_at(target.url)
        if isinstance(post, Share):
            post = await self._shared(post, client)
        if post is None:
            raise Unsupported("no post")
        media = await self._media(post, client)
        if media.track is None:
            return to_page(target.url, post, media, None, "")
        try:
            speech = await transcribe(client, self.groq_url, self.key, media.track)
        except (Unsupported, TooLarge) as error:
            return to_page(target.url, post, media, None, error.detail)
        return to_page(target.url, post, media, speech, "")

    async def _shared(self, share: Share, client: httpx.AsyncClient) -> Post:
        """The post that a shared address leads to."""
        response = await open_page(client, self.url, share.path + "/")
        location = redirect_of(response)
        if location is None:
            raise_for_status(response)
            raise Blocked("a page instead of a redirect")
        post = post_at(location)
        if not isinstance(post, Post):
            raise Unsupported("shared address leads to no post")
        return post

    async def _media(self, post: Post, client: httpx.AsyncClient) -> Media:
        variables = {"media_id": str(post.pk)}
        parse = _MediaOf(post)
        try:
            return await question(client, self.url, QUESTION, variables, referer=post.url, parse=parse)
        except Malformed as error:
            media = await self._in_page(post, client)
            if media is None:
                raise error
            return media

    async def _in_page(self, post: Post, client: httpx.AsyncClient) -> Media | None:
        """The same out of the page of the post; None where the page does not have it either."""
        try:
            response = await open_page(client, self.url, f"p/{post.code}/")
            if response.status_code != 200:
                return None
            return await _workers.run(media_in_page, response.content, post)
        except (Malformed, Blocked, TooHeavy, TooLarge):
            return None


# --- the answer -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _MediaOf:
    """Reads the data of a post; an object and not a closure, so that it can be sent to a worker."""

    post: Post

    def __call__(self, data: Any) -> Media:
        return parse_media(data, self.post)


def media_in_page(body: bytes, post: Post) -> Media | None:
    """The post out of its own page, None where a page does not bring it along."""
    data = data_in_page(body, ROOT)
    if data is None:
        return None
    with parsing():
        return parse_media(data, post)


def parse_media(data: Any, post: Post) -> Media:
    """What the site says of `post`. Raises why it may not be seen."""
    found = data[ROOT]
    if found is None:
        raise Empty("post is removed or private, or there is no such code")
    fields = found["if_not_gated_logged_out"]
    if fields is None:
        raise _gated(found.get("gating_ruling"))
    if fields["code"] != post.code:
        raise Malformed("answered with another post")
    children = [each for each in fields.get("carousel_media") or () if isinstance(each, dict)][:MAX_CHILDREN]
    parts = children if _number(fields.get("media_type")) == CAROUSEL else [fields]
    videos = [each for each in parts if _is_video(each)]
    heard = [track for each in videos if (track := _track(each)) is not None]
    address, seconds = heard[0] if heard else (None, 0.0)
    user = fields["user"]
    return Media(
        user=title(user["username"]),
        name=title(user.get("full_name")),
        caption=caption_of(fields),
        published=published(post.pk),
        track=address,
        seconds=seconds,
        videos=len(videos),
        alts=tuple(alt for each in parts if (alt := plain(each.get("accessibility_caption")))),
    )


def _gated(ruling: Any) -> ProviderError:
    said = plain(ruling.get("title"))[:MAX_REASON_CHARS] if isinstance(ruling, dict) else ""
    return Unsupported(f"post is not shown to everybody: {said}" if said else "post is not shown to everybody")


def caption_of(fields: dict[str, Any]) -> str:
    """The caption as it was written; "" without one."""
    caption = fields.get("caption")
    text = caption["text"] if isinstance(caption, dict) else ""
    if not isinstance(text, str):
        raise Malformed("caption is no text")
    return text.strip()[:MAX_CAPTION_CHARS]


def _number(value: Any) -> int:
    """A media type, which comes as a number or as its digits; 0 for anything else."""
    return int(value) if isinstance(value, int) or (isinstance(value, str) and re.fullmatch("[0-9]", value)) else 0


def _is_video(fields: dict[str, Any]) -> bool:
    return _number(fields.get("media_type")) == VIDEO or bool(fields.get("video_versions"))


def _track(fields: dict[str, Any]) -> tuple[str, float] | None:
    """Where the sound of a video lies, and its length in seconds: the smallest audio track, else the video itself."""
    manifest = fields.get("video_dash_manifest")
    found, seconds = _audio(manifest) if isinstance(manifest, str) else (None, 0.0)
    if found is not None:
        return found, seconds
    versions = fields.get("video_versions") or ()
    if fields.get("has_audio") is False or not versions:
        return None
    address = versions[0]["url"]
    if not isinstance(address, str):
        raise Malformed("address of a video is none")
    return address, seconds


def _audio(manifest: str) -> tuple[str | None, float]:
    """The address of the audio track with the fewest bits, and the length of the whole, out of a DASH manifest."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(manifest.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None, 0.0
    tracks = sorted(_representations(root), key=lambda each: each[0])
    return (tracks[0][1] if tracks else None), _seconds(root.get("mediaPresentationDuration", ""))


def _representations(root: etree._Element) -> Iterator[tuple[int, str]]:
    """Bits a second and address of each audio track."""
    for group in root.iter("{*}AdaptationSet"):
        for track in group.iter("{*}Representation"):
            kind = group.get("contentType") or track.get("mimeType") or group.get("mimeType") or ""
            address = (track.findtext("{*}BaseURL") or "").strip()
            bandwidth = track.get("bandwidth", "")
            if kind.startswith("audio") and address:
                yield (int(bandwidth) if re.fullmatch("[0-9]{1,12}", bandwidth) else 10**12), address


def _seconds(duration: str) -> float:
    found = _DURATION.fullmatch(duration)
    if found is None:
        return 0.0
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


# --- the page ---------------------------------------------------------------------------------------------------------


def to_page(url: str, post: Post, media: Media, speech: Speech | None, unheard: str) -> Page:
    """The post as Markdown. `unheard`: why its video has no transcript. Raises Empty where nothing is said at all."""
    if not media.caption and not media.alts and (speech is None or not speech.text):
        raise Empty("no caption and no speech")
    author = f"{media.name} (@{media.user})" if media.name else f"@{media.user}"
    length = clock(media.seconds * 1000) if media.seconds else ""
    parts = [
        f"# {escape(author)} on Instagram",
        ", ".join(filter(None, (media.published, length))),
        escape_lines(escape(media.caption)),
        *(f"[image: {escape(alt, in_link=True)}]" for alt in media.alts),
        *_spoken(media, speech, unheard),
    ]
    language = speech.language if speech is not None and speech.text else None
    return Page(
        url=url,
        final_url=post.url,
        markdown="\n\n".join(filter(None, parts)),
        title=cut(plain(media.caption), 100) or f"{author} on Instagram",
        byline=author,
        site_name="Instagram",
        published=media.published,
        language=language,
        excerpt=snippet(media.caption),
        signals=Signals(document=speech is not None, second_best=speech is None),
    )


def _spoken(media: Media, speech: Speech | None, unheard: str) -> list[str]:
    if unheard:
        return [f"The video has no transcript: {escape(unheard)}."]
    if speech is None:
        return []
    if not speech.text:
        return ["Nothing is said in the video."]
    heading = f"## Transcript ({speech.language})" if speech.language else "## Transcript"
    more = f"Of {media.videos} videos the first one is transcribed." if media.videos > 1 else ""
    return [heading, more, speech.text]
