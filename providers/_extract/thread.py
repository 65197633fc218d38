"""The posts of a thread: what stands between, around and after them is the forum's own.

Signs are those of forum software in general: microdata of posts, numbered ids, repeated elements named like posts, and
the phrases that software writes into a thread (`Last edited by …`, `Reply 7`, `Click to expand`).
"""

from __future__ import annotations

import re
from collections import Counter

from lxml.etree import _Element

from .kinds import POST_ID
from .outline import Block, Outline

FRAME_WORDS = 40
SIGNATURE_WORDS = 120
NOTICE_WORDS = 16
POSTS_SHARE = 0.6
"""Share of the kept words that must stand in what was taken for posts, for the rest to be taken for no posts."""
MAX_POSTS = 2_000
SHINGLE = 5
QUOTED_WORDS = 40
"""A shorter quotation says what is answered; a longer one is the whole post again."""
QUOTED_SHARE = 0.8

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"\w+")
_POST_PROPERTY = frozenset(("comment", "suggestedanswer", "acceptedanswer"))
_POST_TYPE = re.compile(r"/(?:Comment|Answer|Question|DiscussionForumPosting)$")
_POST_NAME = re.compile(r"(?:^|[\s_-])(?:post|message|reply|answer|comment|comtr)(?:$|[\s_-])", re.IGNORECASE)
_SIGNATURE = re.compile(r"(?:^|[_-])(?:signature|sig)(?=$|[_-])", re.IGNORECASE)
AUTHOR = re.compile(r"(?:^|[\s_-])(?:author|user-?name|hnuser)(?:$|[\s_-])", re.IGNORECASE)
_SUMMARY = re.compile(r"(?:^|[_-])(?:ai|gpt)-?summary(?=$|[_-])", re.IGNORECASE)
_FRAME = re.compile(
    r"(?:^|[_-])(?:extras?|pairs|author-?pane_info|badges?|last-?edit(?:ed)?|reactions?|votes?|likes?|karma"
    r"|reputation|rank|stats?|post-?(?:count|tools?|footer|actions?|controls?|buttons?|options?)"
    r"|topic-?(?:tools?|actions?|info|stats?)|location|locations|tool-?links?|tagline|flair|user-?title"
    r"|member-?since|joined|quick-?reply|rating|moderation|report|infobar|sort|summary-block|unfurl|tag-?list|tags)"
    r"(?=$|[_-])",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"#\s?\d{1,5}\.?|(?:reply|post) #?\d{1,5}|level \d+|(?:last )?edited (?:by|on|at|\w+ \d|\d)\b.*|last edited:.*"
    r"|posted .* \(edited\)|(?:click to )?expand(?:\.\.\.|…)?|thread starter \S+|start date .{0,40}\d{4}"
    r"|discussion in .* started by\b.*|sort by(?: \S+){0,3}|(?:\w\s){0,3}\d+ repl(?:y|ies) last reply.*"
    r"|\d+ repl(?:y|ies) to this topic|you must (?:be )?(?:log|sign|register)\w*\b.*"
    r"|(?:log|sign) in (?:or (?:register|sign|create|join)|to (?:reply|comment|post|vote|join|continue|add|follow))\b.*"
    r"|join the (?:discussion|conversation)|top posters in this topic|forum jump|scroll to see replies"
    r"|this (?:topic|thread|discussion|(?:forum )?post) (?:is|was|has been)\b.*\b(?:closed|archived|locked|deleted)\b.*"
    r"|\d+ (?:hours?|days?|weeks?|months?|years?) later\W*|quote|reply|report|like|share|go to solution"
    r"|watch this topic|show more replies",
    re.IGNORECASE | re.DOTALL,
)


def is_frame(element: _Element) -> bool:
    """Whether an element of a post holds figures, ranks or tools, by its name."""
    return any(_FRAME.search(_CAMEL.sub("-", name)) for name in (element.get("class") or "").split())


def drop_frames(outline: Outline, keep: bytearray) -> None:
    """Take everything off a thread that no person wrote as a part of it."""
    _drop_named(outline, keep)
    _drop_notices(outline, keep)
    _drop_between(outline, keep)
    _drop_quoted_again(outline, keep)


def _drop_named(outline: Outline, keep: bytearray) -> None:
    for element, (start, end) in outline.spans.items():
        words = outline.words[end] - outline.words[start]
        if not words or element is outline.root:
            continue
        names = [_CAMEL.sub("-", name) for name in f"{element.get('class') or ''} {element.get('id') or ''}".split()]
        if (
            (words <= FRAME_WORDS and any(map(_FRAME.search, names)))
            or (words <= SIGNATURE_WORDS and any(map(_SIGNATURE.search, names)))
            or any(map(_SUMMARY.search, names))
        ):
            for index in range(start, end):
                keep[index] = keep[index] and _names_author(outline.blocks[index])


def _names_author(block: Block) -> bool:
    """Whether the line that a post's figures stand on says who wrote it."""
    return any(AUTHOR.search(link.get("class") or "") for link in block.element.iter("a"))


def _drop_notices(outline: Outline, keep: bytearray) -> None:
    for index, block in enumerate(outline.blocks):
        if not keep[index] or block.words > NOTICE_WORDS or block.element.tag in ("h1", "pre", "td", "th"):
            continue
        is_letter = len(block.text) == 1 and block.text.isascii()
        if is_letter or _NOTICE.fullmatch(block.text):
            keep[index] = 0


def _drop_between(outline: Outline, keep: bytearray) -> None:
    """Drop what stands between and after the posts, where these hold most of the page."""
    posts = whole_posts(outline, posts_of(outline))
    if not posts:
        return
    inside = bytearray(len(keep))
    for start, end in map(outline.spans.__getitem__, posts):
        inside[start:end] = b"\1" * (end - start)
    blocks = outline.blocks
    total = sum(block.words for block, flag in zip(blocks, keep, strict=True) if flag)
    posted = sum(block.words for block, flag, a in zip(blocks, keep, inside, strict=True) if flag and a)
    if posted < POSTS_SHARE * total:
        return
    for index in range(inside.find(1), len(keep)):
        if not inside[index] and blocks[index].element.tag != "h1":
            keep[index] = 0


def posts_of(outline: Outline) -> list[_Element]:
    """Elements that are posts; of several ways of marking them the one that holds most. Less than two are none."""
    by_data: list[_Element] = []
    by_id: list[_Element] = []
    by_name: dict[str, list[_Element]] = {}
    for element, (start, end) in outline.spans.items():
        if start == end:
            continue
        if (element.get("itemprop") or "").lower() in _POST_PROPERTY or _POST_TYPE.search(
            element.get("itemtype") or ""
        ):
            by_data.append(element)
        if POST_ID.match(element.get("id") or ""):
            by_id.append(element)
        classes = element.get("class")
        if classes and _POST_NAME.search(classes):
            by_name.setdefault(f"{element.tag!s} {classes.split()[0]}", []).append(element)
    ways = [way for way in (by_data, by_id, *by_name.values()) if len(way) > 1]
    return max(ways, key=lambda way: _words(outline, way), default=[])


def whole_posts(outline: Outline, posts: list[_Element]) -> list[_Element]:
    """The largest elements that hold one post each: the marked one may be its text without its author."""
    if len(posts) > MAX_POSTS:
        return posts
    counts: Counter[_Element] = Counter()
    for post in posts:
        counts.update((post, *post.iterancestors()))
    wholes = []
    for post in posts:
        whole = post
        for ancestor in post.iterancestors():
            if counts[ancestor] > 1 or ancestor not in outline.spans:
                break
            whole = ancestor
        wholes.append(whole)
    return wholes


def _words(outline: Outline, elements: list[_Element]) -> int:
    return sum(outline.words[end] - outline.words[start] for start, end in map(outline.spans.__getitem__, elements))


def _drop_quoted_again(outline: Outline, keep: bytearray) -> None:
    """Drop what a post quotes of a post that stands on the page too; that it quotes, and whom, stays."""
    seen: set[int] = set()
    for index, block in enumerate(outline.blocks):
        if not keep[index]:
            continue
        words = _WORD.findall(block.text.lower())
        hashes = [hash(tuple(words[at : at + SHINGLE])) for at in range(len(words) - SHINGLE + 1)]
        quoted = block.words >= QUOTED_WORDS and _is_quoted(block)
        if quoted and sum(value in seen for value in hashes) >= QUOTED_SHARE * max(1, len(hashes)):
            keep[index] = 0
        else:
            seen.update(hashes)


def _is_quoted(block: Block) -> bool:
    element: _Element | None = block.element
    for _ in range(6):
        if element is None:
            return False
        if element.tag == "blockquote" or "quote" in (element.get("class") or "").lower():
            return True
        element = element.getparent()
    return False
