"""Cuts of long pages: where they fall, how several pages share a limit, and the memory of pages that were cut.

All offsets and lengths are in characters (code points) of the page's Markdown. Pieces joined are the whole text.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from unicodedata import category, combining

from actors.results import ReadResult

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
# A sentence ends with a full stop of some script, perhaps a closing quote or bracket, and white space; the full
# stops of scripts that put no space between sentences end one by themselves. A line ends one too: lists, tables, code.
_SENTENCE = re.compile(r"[.!?…؟।۔][)\]\"'»”’*_]*\s+|[。！？][」』）”’]*\s*|\n\s*")
_SPACE = re.compile(r"\s+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FENCE_LINE = re.compile(r"\n {0,3}(`{3,}|~{3,})")
# Bounds on the work for one cut, far past what an ordinary page needs: how far back from the limit a stop is looked
# for, and how many fences are followed. A page of a million characters is cut within milliseconds so.
LOOK_BACK_CHARS = 20_000
MAX_FENCES = 10_000
_JOINERS = "\u200d\u200c"
# Scripts written without spaces: a cut between two of these letters is not inside a word as a reader sees it.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]` of a page. `next_offset` is None at the end of the page."""

    text: str
    start: int
    end: int
    length: int

    @property
    def next_offset(self) -> int | None:
        return self.end if self.end < self.length else None

    @property
    def is_cut(self) -> bool:
        return self.end < self.length


def cut(text: str, offset: int, limit: int) -> Piece:
    """The piece of `text` from `offset` with at most `limit` characters, ending where a reader would stop.

    A paragraph end is best, then a sentence or line end, then the end of a word; a single word longer than `limit`
    is split between two whole characters. Ends outside fenced code are preferred.
    """
    length = len(text)
    start = min(offset, length)
    if length - start <= limit:
        return Piece(text[start:], start, length, length)
    end = _boundary(text, start, start + max(limit, 1))
    return Piece(text[start:end], start, end, length)


def within_bytes(text: str, start: int, limit: int, most: int | None) -> int:
    """`limit`, or as many characters from `start` as JSON holds twice, as text and as data, in `most` bytes."""
    part = text[start : start + limit]
    while most is not None and (size := 2 * _json_bytes(part)) > most:
        part = part[: max(len(part) * most // size - 1, 1)]
        limit = len(part)
    return limit


def _json_bytes(text: str) -> int:
    """The size of a sanitised text in JSON: UTF-8, and a backslash before line ends, tabs, quotes and backslashes."""
    return len(text.encode("utf-8", "replace")) + sum(map(text.count, '\n\t"\\'))


def _boundary(text: str, start: int, most: int) -> int:
    """The best place in `start`+1..`most` to end a piece that begins at `start`.

    Far from the start is better than near, so that a heading does not stand alone; and outside of fenced code better
    than inside, unless next to nothing would be left of the piece.
    """
    fences = _fence_lines(text, most)
    room = most - start

    def fits(end: int) -> bool:
        return end > start and _is_whole(text, end)

    def fits_outside(end: int) -> bool:
        return _is_outside(fences, end) and fits(end)

    far = most - LOOK_BACK_CHARS
    for low, accepts in ((room // 2, fits_outside), (room // 10, fits_outside), (room // 2, fits), (0, fits)):
        for pattern in (_PARAGRAPH, _SENTENCE):
            end = _last_end(pattern, text, max(start + low, far), most, accepts)
            if end:
                return end
    space = _last_end(_SPACE, text, max(start, far), most, fits)
    return max(space, _last_unspaced(text, start, most)) or _whole_character(text, start, most)


def _last_end(pattern: re.Pattern[str], text: str, low: int, most: int, accepts: Callable[[int], bool]) -> int:
    """The last end of a match in `low`..`most` that is accepted, 0 if there is none; looked for from behind."""
    width = 4096
    high = most
    while high > low:
        first = max(low, most - width)
        # Ends past `high` were looked at in the round before.
        ends = [match.end() for match in pattern.finditer(text, first, most)]
        found = next((end for end in reversed(ends) if end <= high and accepts(end)), 0)
        if found:
            return found
        high, width = first, width * 8
    return 0


def _fence_lines(text: str, most: int) -> list[int]:
    """Offsets where fenced code opens and closes, in turn; of a page that is nothing but fences, not all."""
    lines: list[int] = []
    opened = ""
    matches = chain([_FENCE.match(text, 0, most)], _FENCE_LINE.finditer(text, 0, most))
    for match in islice(filter(None, matches), MAX_FENCES):
        mark = match.group(1)
        if not opened:
            opened = mark
            lines.append(match.start() + match.group().startswith("\n"))
        elif mark[0] == opened[0] and len(mark) >= len(opened):
            opened = ""
            lines.append(match.end())
    return lines


def _is_outside(fences: Sequence[int], end: int) -> bool:
    """Whether `end` lies between blocks of code; right before a fence is outside of it."""
    return bisect_left(fences, end) % 2 == 0


def _last_unspaced(text: str, start: int, most: int) -> int:
    """The last place near `most` behind a letter of a script without spaces; 0 if there is none."""
    nearby = range(most, max(start, most - 200), -1)
    return next((end for end in nearby if _UNSPACED.match(text, end - 1) and _is_whole(text, end)), 0)


def _whole_character(text: str, start: int, most: int) -> int:
    """The last place in `start`+1..`most` between two characters as a reader sees them."""
    nearby = range(most, max(start, most - 100), -1)
    return next((end for end in nearby if _is_whole(text, end)), most)


def _is_whole(text: str, end: int) -> bool:
    """Whether a cut at `end`, before the end of the text, tears no mark, joiner, selector or half flag off its base."""
    after, before = text[end], text[end - 1]
    if combining(after) or category(after) in ("Mn", "Mc", "Me") or after in _JOINERS or before in _JOINERS:
        return False
    if "\U0001f3fb" <= after <= "\U0001f3ff":
        return False
    return not (_is_flag_letter(after) and _is_flag_letter(before) and _flag_letters_before(text, end) % 2 == 1)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, end: int) -> int:
    """How many of them stand before `end`; a row longer than any text has is not counted to its start."""
    count = 0
    while count < min(end, 200) and _is_flag_letter(text[end - 1 - count]):
        count += 1
    return count


# --- several pages under one limit ----------------------------------------------------------------------------------


def share(lengths: Sequence[int], per_page: int, together: int) -> list[int]:
    """How many characters each page may have: at most `per_page`, all of them at most `together`; 0 is no limit.

    Short pages leave what they do not need to the others, which get equal shares of it.
    """
    wanted = [min(length, per_page) if per_page else length for length in lengths]
    if not together or sum(wanted) <= together:
        return wanted
    allowed = [0] * len(wanted)
    left = together
    for place, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        fair = left // (len(wanted) - place)
        allowed[index] = min(wanted[index], fair)
        left -= allowed[index]
    return allowed


# --- pages that were cut --------------------------------------------------------------------------------------------

MAX_CACHED_PAGES = 64
MAX_CACHED_BYTES = 32 * 1024 * 1024
CACHE_SECONDS = 600.0
# Twenty bytes each and a key: what tells `changed` when the text itself is long gone.
MAX_FINGERPRINTS = 1024


@dataclass(frozen=True, slots=True)
class PageKey:
    """What makes two reads the same text; a page read without asking robots.txt does not serve one that asks."""

    url: str
    remove_links: bool
    robots_txt: bool


@dataclass(frozen=True, slots=True)
class CutPage:
    """A page that was read and not yet handed out whole. `markdown` is the text after link removal."""

    result: ReadResult
    markdown: str
    kept_at: float
    bytes_held: int


class PageCache:
    """Pages that were cut, for ten minutes; 64 of them and 32 MB at most, the longest unused going first."""

    def __init__(self) -> None:
        self._pages: OrderedDict[PageKey, CutPage] = OrderedDict()
        self._fingerprints: OrderedDict[PageKey, bytes] = OrderedDict()
        self._bytes_held = 0

    def get(self, key: PageKey, now: float) -> CutPage | None:
        """The page kept under `key`, if it is not older than ten minutes at `now` (trio's clock)."""
        self._expire(now)
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def keep(self, key: PageKey, result: ReadResult, markdown: str, now: float) -> None:
        """Remember a page that was cut. A page larger than the whole cache leaves its fingerprint only."""
        self._expire(now)
        self._drop(key)
        self._remember(key, markdown)
        held = sys.getsizeof(markdown)
        if held > MAX_CACHED_BYTES:
            return
        self._pages[key] = CutPage(_without_text(result), markdown, now, held)
        self._bytes_held += held
        while len(self._pages) > MAX_CACHED_PAGES or self._bytes_held > MAX_CACHED_BYTES:
            self._drop(next(iter(self._pages)))

    def has_changed(self, key: PageKey, markdown: str) -> bool:
        """Whether a page was cut under `key` before, and its text was another one."""
        known = self._fingerprints.get(key)
        return known is not None and known != _fingerprint(markdown)

    def _remember(self, key: PageKey, markdown: str) -> None:
        self._fingerprints[key] = _fingerprint(markdown)
        self._fingerprints.move_to_end(key)
        if len(self._fingerprints) > MAX_FINGERPRINTS:
            self._fingerprints.popitem(last=False)

    def _expire(self, now: float) -> None:
        for key in [key for key, page in self._pages.items() if now - page.kept_at >= CACHE_SECONDS]:
            self._drop(key)

    def _drop(self, key: PageKey) -> None:
        page = self._pages.pop(key, None)
        if page is not None:
            self._bytes_held -= page.bytes_held

    @property
    def bytes_held(self) -> int:
        return self._bytes_held

    def __len__(self) -> int:
        return len(self._pages)


def _fingerprint(markdown: str) -> bytes:
    return blake2b(markdown.encode("utf-8", "surrogatepass"), digest_size=20).digest()


def _without_text(result: ReadResult) -> ReadResult:
    """The result with its page's text, fetched body and signals let go: the cache counts one text only."""
    if result.page is None:
        return result
    return replace(result, page=replace(result.page, markdown="", evidence=None))
