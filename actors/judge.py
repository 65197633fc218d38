"""Is this page what was asked for? One pure function for all readers, from the page's text and what its markup said.

Rules and figures: vendors/bot-walls.md sections 3 and 6, vendors/paywalls.md sections 2 to 5 (read 2026-11). The
markup of a local page was examined while it was parsed (`Signals`); Markdown from a remote reader has lost it, so
there only phrases, incident numbers and lengths are left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from actors.phrases import (
    INCIDENT,
    NEEDS_SCRIPT,
    NOT_A_PAYWALL,
    STRONG_PAYWALL,
    WALL_ADDRESS,
    WALL_BODY,
    WALL_TITLE,
)
from providers._contract import Page

SHORT_CHARS = 1_500
SHORTISH_CHARS = 2_500
LONG_CHARS = 3_000
# A wall has a heading, a sentence and a form; with no more text than this the form-only body is taken for granted.
BARE_CHARS = 300
# A challenge's heading is its phrase and at most the site's name; "long queues at the security check" is news.
SITE_NAME_CHARS = 30

TAIL_CHARS = 600
HEAD_CHARS = 4_000
SLICE_CHARS = 20_000
# Where so much Markdown holds almost no words, more of it will not make a page.
MAX_EXAMINED_CHARS = 200_000

GONE_STATUSES = (404, 410)
WALL_STATUSES = (403, 405, 429, 503)

_MARKUP = str.maketrans(dict.fromkeys("#*_`|>~[]<", " "))
# Each alternative stops where the next match could begin, so the time is linear whatever the page holds.
_NOT_CONTENT = re.compile(r"\[image:[^\[\]]*\]|!\[[^\[\]]*\]|https?://\S+|^[ \t]*(?:[-+=:|][-+=:| \t]*)$", re.M)
_HEADING = re.compile(r"^#{1,2} +(.+)$", re.M)
_ELLIPSIS = re.compile(r"(?:\.\.\.|…)\W*$")


class Quality(StrEnum):
    """What a page turned out to be.

    good: content. thin: too little of it, and nothing says why. shell: too little, since a script would have to run.
    maybe: content that may have been cut. teaser: the open part of a paid page. wall: a challenge, a block or a consent
    page. empty: no text. no_text: a PDF of pictures, the text is a notice. gone: the site says there is no such page.
    failed: the site answered with another error status.
    """

    GOOD = "good"
    THIN = "thin"
    SHELL = "shell"
    MAYBE = "maybe"
    TEASER = "teaser"
    WALL = "wall"
    EMPTY = "empty"
    NO_TEXT = "no_text"
    GONE = "gone"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`chars` counts content, at least where it is below the thresholds; `detail` is for people."""

    quality: Quality
    chars: int = 0
    detail: str = ""


def judge(page: Page, min_chars: int) -> Verdict:
    """Say what `page` is. `min_chars`: with fewer characters of content it is thin."""
    signals = page.signals
    chars = content_chars(page.markdown, enough=max(min_chars, LONG_CHARS))
    if signals.status in GONE_STATUSES:
        return Verdict(Quality.GONE, chars, f"target answered {signals.status}")
    if signals.wall is not None:
        return Verdict(Quality.WALL, chars, f"bot wall: {signals.wall}")
    if signals.status is not None and signals.status >= 400:
        return Verdict(Quality.FAILED, chars, f"target answered {signals.status}")
    if signals.no_text_layer:
        return Verdict(Quality.NO_TEXT, chars, "no text layer")
    if chars == 0:
        return Verdict(Quality.SHELL if signals.shell else Quality.EMPTY, 0, "no text")
    if signals.second_best:
        return Verdict(Quality.THIN, chars, "not what this reader is for")
    if signals.document:
        return Verdict(Quality.GOOD, chars)
    return _by_text(page, chars, min_chars)


def _by_text(page: Page, chars: int, min_chars: int) -> Verdict:
    wall = (_wall_address(page) or _wall_phrase(page)) if chars <= SHORT_CHARS else None
    if wall is not None:
        return Verdict(Quality.WALL, chars, f"bot wall: {wall}")
    quality = _paid(page, chars)
    if quality is not None and (quality is Quality.TEASER or chars >= min_chars):
        return Verdict(quality, chars, "cut by a paywall")
    if chars >= min_chars:
        return Verdict(Quality.GOOD, chars)
    if page.signals.shell or NEEDS_SCRIPT.search(page.markdown[:HEAD_CHARS]):
        return Verdict(Quality.SHELL, chars, f"script shell with {chars} characters")
    return Verdict(Quality.THIN, chars, f"{chars} characters")


def _wall_address(page: Page) -> str | None:
    """A short page that stands where a consent or captcha page stands, and was not asked for there."""
    found = WALL_ADDRESS.match(page.final_url)
    return None if found is None or WALL_ADDRESS.match(page.url) else found[0].partition("://")[2]


def _wall_phrase(page: Page) -> str | None:
    """A challenge known by its words: a known phrase as heading, or an incident number, and one more sign."""
    head = page.markdown[:SLICE_CHARS]
    text = visible(head)
    first = _HEADING.search(head)
    headings = (page.title, page.signals.headline, first[1] if first else "")
    title = next(((heading, match[0]) for heading in headings if (match := WALL_TITLE.search(heading))), None)
    incident = INCIDENT.search(text)
    if title is None and incident is None:
        return None
    known = title[1] if title is not None else ""
    signs = (
        title is not None and incident is not None,
        page.signals.status in WALL_STATUSES,
        page.evidence is not None and page.evidence.status in WALL_STATUSES,
        any(phrase[0].casefold() != known.casefold() for phrase in WALL_BODY.finditer(text)),
        title is not None and len(text) <= BARE_CHARS and len(title[0]) - len(known) <= SITE_NAME_CHARS,
    )
    return (known or "incident number") if any(signs) else None


def _paid(page: Page, chars: int) -> Quality | None:
    """The decision table of paywalls.md section 5; None: nothing speaks for a paywall."""
    signals = page.signals
    tail = _tail(page.markdown)
    strong = STRONG_PAYWALL.search(tail) is not None
    short, shortish = chars < SHORT_CHARS, chars < SHORTISH_CHARS
    cut = signals.cut or (chars < LONG_CHARS and _ELLIPSIS.search(tail) is not None)
    if signals.declared_paywall and (shortish or strong or cut):
        return Quality.TEASER
    if strong and chars < LONG_CHARS:
        return Quality.TEASER
    return Quality.MAYBE if signals.metered and short else None


def _tail(markdown: str) -> str:
    """The last words of the page, lower case, without the footers that only look like a paywall."""
    text = visible(markdown[-HEAD_CHARS:]).casefold()
    return NOT_A_PAYWALL.sub(" ", text)[-TAIL_CHARS:]


def content_chars(markdown: str, *, enough: int) -> int:
    """How many characters a reader would see: no link targets, pictures, bare addresses, rules or markup.

    Counts slice by slice and stops past `enough`: a page of a million characters costs what a short one does.
    """
    total = 0
    for start in range(0, min(len(markdown), MAX_EXAMINED_CHARS), SLICE_CHARS):
        total += len(visible(markdown[start : start + SLICE_CHARS]))
        if total > enough:
            break
    return total


def visible(markdown: str) -> str:
    """The words of a piece of Markdown, in one line."""
    text = _NOT_CONTENT.sub(" ", _without_targets(markdown))
    return " ".join(text.translate(_MARKUP).split())


def _without_targets(markdown: str) -> str:
    first, *others = markdown.split("](")
    # What stands after a link's text up to the closing bracket is its target.
    return first + "".join("]" + (rest if closed else target) for target, closed, rest in map(_closed, others))


def _closed(part: str) -> tuple[str, str, str]:
    return part.partition(")")
