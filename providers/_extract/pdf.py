"""PDF to text, page by page: pypdf first, pdfium as the second opinion.

pypdf is pure Python: it can be stopped between two instructions, it fails with an exception, and it has the right
order for Arabic. pdfium is seventeen times faster, reads some files that pypdf does not, and on a hostile one takes
gigabytes or ends the process (extraction.md section 4). So pdfium reads what pypdf cannot, the rest of a file once
pypdf has used up its seconds, and files of over 100 pages; it is not asked about a page on which pypdf met a limit.

Outlines, XMP, form scripts, pictures and attachments are never touched.
"""

from __future__ import annotations

import logging
import re
import signal
import struct
import threading
import time
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from types import FrameType

import pypdf
import pypdfium2
from pypdf import PdfReader
from pypdf.errors import LimitReachedError, PyPdfError

from providers._contract import Unsupported
from providers._sanitise import clean, clean_line

from .drafts import MAX_TEXT_CHARS
from .paged import PdfEnd, PdfHead

MAX_PAGES = 300
READ_SECONDS = 9.0
"""For the whole file; a second less than a worker's, so that the end comes in order where it can."""
PYPDF_SECONDS = 3.0
LONG_FILE_PAGES = 100

_MAX_STREAM_BYTES = 20_000_000
_CONFIGURATION = pypdf.Configuration(
    disable_legacy_handling=True,
    maximum_declared_stream_length=_MAX_STREAM_BYTES,
    array_based_stream_maximum_output_length=_MAX_STREAM_BYTES,
    lzw_maximum_output_length=_MAX_STREAM_BYTES,
    run_length_maximum_output_length=_MAX_STREAM_BYTES,
    zlib_maximum_output_length=_MAX_STREAM_BYTES,
    image_maximum_buffer_size=_MAX_STREAM_BYTES,
    jbig2dec_binary=None,
)
_PARSER_ERRORS = (
    PyPdfError, ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError,
    ValueError, struct.error, zlib.error,
)  # fmt: skip
"""What pypdf raises on damaged files: its own, and whatever the damage does to code that did not expect it."""

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_HYPHEN_AT_END = re.compile(r"(?<=[^\W\d_])(?:-|\xad|\x02)[ \t]*\n[ \t]*(?=[^\W\d_])")
_PDFIUM_HYPHEN = re.compile(r"[\x02\ufffe]\n?")
_LINE_MARKUP = re.compile(r"^([ \t]*)([#>]|[-+*](?= )|```|~~~)", re.MULTILINE)
_MANY_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MAX_LINKS = 40

logging.getLogger("pypdf").setLevel(logging.CRITICAL)


class _OutOfTime(BaseException):
    """Raised by the alarm inside pypdf; no Exception, so that nothing in there catches it."""


def read_pdf(body: bytes) -> Generator[PdfHead | str, None, PdfEnd]:
    """Yield the head and each page's text, sanitised; return how it ended.

    Raises Unsupported for a file that needs a password or that neither library can open.
    """
    ends_at = time.monotonic() + READ_SECONDS
    with pypdf.apply_configuration(_CONFIGURATION):
        first = _First(body)
        second = _Second(body)
        try:
            return (yield from _read(first, second, ends_at))
        finally:
            second.close()


def _read(first: _First, second: _Second, ends_at: float) -> Generator[PdfHead | str, None, PdfEnd]:
    head = first.head() or second.head()
    if head is None:
        raise Unsupported("the PDF is damaged and cannot be opened")
    yield head
    unread = chars = 0
    prefers_second = head.page_count > LONG_FILE_PAGES
    for index in range(min(head.page_count, MAX_PAGES)):
        if time.monotonic() > ends_at or chars > MAX_TEXT_CHARS:
            return PdfEnd(truncated=True, unread=unread)
        readers = (second.page, first.page) if prefers_second and index else (first.page, second.page)
        text = readers[0](index)
        if text is None and not first.met_limit_on(index):
            text = readers[1](index)
        if index == 0 and text and _RIGHT_TO_LEFT.search(text):
            prefers_second = False
        unread += text is None
        page = _tidy(text or "")
        chars += len(page)
        yield page
    if unread == min(head.page_count, MAX_PAGES):
        raise Unsupported("the PDF is damaged: none of its pages can be read")
    return PdfEnd(truncated=head.page_count > MAX_PAGES, unread=unread)


class _First:
    """pypdf, with a budget of seconds for all it does and the errors of each page caught by itself."""

    def __init__(self, body: bytes) -> None:
        self._seconds = PYPDF_SECONDS
        self._limited: set[int] = set()
        self._reader: PdfReader | None = None
        self._body = body

    def head(self) -> PdfHead | None:
        """Open the file. None when it cannot be opened; raises Unsupported when it has a password."""
        try:
            with self._timed():
                reader = PdfReader(BytesIO(self._body))
                is_locked = reader.is_encrypted and not reader.decrypt("")
                head = None if is_locked else PdfHead(len(reader.pages), *_facts(reader))
        except (*_PARSER_ERRORS, _OutOfTime):
            return None
        if head is None:
            raise Unsupported("the PDF is locked with a password")
        if head.page_count:
            self._reader = reader
            return head
        return None

    def page(self, index: int) -> str | None:
        """The text of one page, links after it; None when it failed or the seconds are used up."""
        if self._reader is None or self._seconds <= 0:
            return None
        try:
            with self._timed():
                page = self._reader.pages[index]
                text = page.extract_text()
                return text + _links(page, text)
        except LimitReachedError:
            self._limited.add(index)
        except _PARSER_ERRORS:
            return None
        except _OutOfTime:
            self._seconds = 0.0
        return None

    def met_limit_on(self, index: int) -> bool:
        """Whether this page is a bomb as far as pypdf can tell; pdfium has no limits of its own."""
        return index in self._limited

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            with _alarm(self._seconds):
                yield
        finally:
            self._seconds -= time.monotonic() - started


class _Second:
    """pdfium, opened when first asked."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._document: pypdfium2.PdfDocument | None = None
        self._is_broken = False

    def head(self) -> PdfHead | None:
        document = self._open()
        return PdfHead(len(document)) if document is not None and len(document) else None

    def page(self, index: int) -> str | None:
        document = self._open()
        if document is None:
            return None
        try:
            page = document[index]
            text = page.get_textpage()
            try:
                found: str = text.get_text_bounded()
                return _PDFIUM_HYPHEN.sub("", found.replace("\r\n", "\n"))
            finally:
                text.close()
                page.close()
        except (pypdfium2.PdfiumError, IndexError, ValueError):
            return None

    def _open(self) -> pypdfium2.PdfDocument | None:
        if self._document is None and not self._is_broken:
            try:
                self._document = pypdfium2.PdfDocument(self._body)
            except (pypdfium2.PdfiumError, ValueError) as error:
                if "password" in str(error).lower():
                    raise Unsupported("the PDF is locked with a password") from error
                self._is_broken = True
        return self._document

    def close(self) -> None:
        if self._document is not None:
            self._document.close()


def _facts(reader: PdfReader) -> tuple[str, str]:
    """Title and author from the information dictionary, sanitised; '' where the file does not say."""
    try:
        facts = reader.metadata
        title, author = (facts.title, facts.author) if facts is not None else ("", "")
    except _PARSER_ERRORS:
        return "", ""
    title = clean_line(str(title or ""))
    # Programs write their own file's name there.
    is_file_name = re.fullmatch(
        r"(?:Microsoft Word - .*|untitled|\S+\.(?:docx?|pptx?|tex|dvi|indd|qxd|pdf))", title, re.I
    )
    return "" if is_file_name else title, clean_line(str(author or ""))


def _links(page: pypdf.PageObject, text: str) -> str:
    """The web addresses behind the page's links, those that its text does not show."""
    found: dict[str, None] = {}
    with suppress(*_PARSER_ERRORS):
        for reference in list(page.get("/Annots") or ())[:500]:
            action = reference.get_object().get("/A")
            address = str(action.get_object().get("/URI") or "") if action is not None else ""
            if address.startswith(("http://", "https://")) and address not in text and len(address) < 2_000:
                found[re.sub(r"[\s<>]", "", address)] = None
            if len(found) == _MAX_LINKS:
                break
    return "\n\nLinks: " + ", ".join(f"<{address}>" for address in found) if found else ""


def _tidy(text: str) -> str:
    """One page: ligatures and words broken at line ends made whole, nothing at a line's start that reads as markup."""
    text = text.replace("\r\n", "\n").translate(_LIGATURES)
    text = _HYPHEN_AT_END.sub(_join_word, text)
    text = _LINE_MARKUP.sub(r"\1\\\2", text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return clean(_MANY_BLANKS.sub("\n\n", text)).strip("\n")


def _join_word(match: re.Match[str]) -> str:
    """Drop a hyphen between two small letters; elsewhere it may belong to the word, as in ISO-8601."""
    text = match.string
    return "" if text[match.start() - 1].islower() and text[match.end()].islower() else match[0]


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise _OutOfTime in here after `seconds`. Outside the main thread, where no signal arrives, it never does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: FrameType | None) -> None:
    raise _OutOfTime
