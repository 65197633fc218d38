"""Shapes what the pipelines found into the two halves of an answer: Markdown for the model, data for the program.

Both are complete; `service/schemas.py` describes the data. Everything that came from outside has been sanitised
before it gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic
from urllib.parse import urldefrag

from actors.results import Merged, MergedHit, MergedImage, ReadResult, Report, SearchResult, Step
from providers._contract import Note, Page
from service.paging import Piece
from service.reasons import page_failure, reason_line, search_failure
from service.texts import Texts

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """What all parts of one answer share.

    now: trio's clock. timeout: seconds the call had. mark: the random mark of this call, 16 hex digits, which the
    text of a page cannot know. batch: pages were cut to a share.
    """

    texts: Texts
    now: float
    timeout: float
    mark: str


@dataclass(frozen=True, slots=True)
class Searched(Generic[Merged]):
    """One query of an answer. `problem` is the sentence for a query that could not be asked at all."""

    result: SearchResult[Merged]
    problem: str | None = None

    def failure(self, frame: Frame) -> str | None:
        """Why it gave nothing, or None."""
        return self.problem or search_failure(self.result, frame.texts, frame.now, timeout=frame.timeout)


@dataclass(frozen=True, slots=True)
class Read:
    """One page of an answer: the outcome, the part of its text that is handed out, and all notes.

    `url` is the address as the caller wrote it, `problem` the sentence for one that could not be read at all.
    """

    url: str
    result: ReadResult
    piece: Piece
    notes: tuple[Note, ...] = ()
    problem: str | None = None

    def failure(self, frame: Frame) -> str | None:
        """Why it was not read, or None."""
        return self.problem or page_failure(self.result, frame.texts, frame.now, timeout=frame.timeout)


# --- searches -------------------------------------------------------------------------------------------------------


def hits_data(searched: Searched[MergedHit], frame: Frame) -> Data:
    hits = [hit_data(rank, merged) for rank, merged in enumerate(searched.result.hits, 1)]
    return _query_data(searched, "hits", hits, frame)


def images_data(searched: Searched[MergedImage], frame: Frame) -> Data:
    images = [_image_data(rank, merged) for rank, merged in enumerate(searched.result.hits, 1)]
    return _query_data(searched, "images", images, frame)


def _query_data(searched: Searched[Any], name: str, items: list[Data], frame: Frame) -> Data:
    return {
        "query": searched.result.query,
        "status": searched.result.status,
        "count": len(items),
        name: items,
        "providers": [report_data(report) for report in searched.result.reports],
        "error": searched.failure(frame),
        "elapsed_ms": milliseconds(searched.result.elapsed),
    }


def hit_data(rank: int, merged: MergedHit) -> Data:
    hit = merged.hit
    return {
        "rank": rank,
        "title": hit.title,
        "url": hit.url,
        "snippet": hit.snippet,
        "published": hit.published,
        "sources": list(merged.sources),
    }


def _image_data(rank: int, merged: MergedImage) -> Data:
    image = merged.image
    return {
        "rank": rank,
        "title": image.title,
        "image_url": image.image_url,
        "page_url": image.page_url or None,
        "thumbnail_url": image.thumbnail_url,
        "width": image.width,
        "height": image.height,
        "source": merged.source,
    }


def report_data(report: Report) -> Data:
    return {
        "instance": report.instance,
        "status": report.status,
        "reason": None if report.reason is None else report.reason.value,
        "detail": report.detail,
        "count": report.count,
        "elapsed_ms": milliseconds(report.elapsed),
    }


def hits_text(searched: Searched[MergedHit], frame: Frame) -> str:
    return _query_text(searched, "hits", _hit_lines, frame)


def images_text(searched: Searched[MergedImage], frame: Frame) -> str:
    return _query_text(searched, "images", _image_lines, frame)


def _query_text(
    searched: Searched[Any], unit: str, lines_of: Callable[[int, Any, Texts], list[str]], frame: Frame
) -> str:
    lines = [f"## {searched.result.query}", _headline(searched, unit, frame), ""]
    for rank, merged in enumerate(searched.result.hits, 1):
        lines += [*lines_of(rank, merged, frame.texts), ""]
    return "\n".join([*lines, *_providers(searched.result.reports, frame)]).rstrip()


def _headline(searched: Searched[Any], unit: str, frame: Frame) -> str:
    """How many were found, that nothing was, or why it failed."""
    count = len(searched.result.hits)
    if count:
        return frame.texts.say(unit, count=count)
    why = searched.failure(frame)
    return frame.texts.say("no_hits") if why is None else frame.texts.say("failed", why=why)


def _hit_lines(rank: int, merged: MergedHit, texts: Texts) -> list[str]:
    hit = merged.hit
    facts = [fact for fact in (hit.published, texts.say("sources", names=", ".join(merged.sources))) if fact]
    lines = [f"{rank}. {_one_line(hit.title) or hit.url}", f"   {hit.url}", f"   {' · '.join(facts)}"]
    snippet = _one_line(hit.snippet)
    return [*lines, f"   {snippet}"] if snippet else lines


def _image_lines(rank: int, merged: MergedImage, texts: Texts) -> list[str]:
    image = merged.image
    facts = [texts.say("sources", names=merged.source)]
    if image.width and image.height:
        facts.insert(0, texts.say("image", width=image.width, height=image.height))
    lines = [f"{rank}. {_one_line(image.title) or image.image_url}", f"   {image.image_url}", f"   {' · '.join(facts)}"]
    return [*lines, f"   {texts.say('image_page', url=image.page_url)}"] if image.page_url else lines


def _providers(reports: Sequence[Report], frame: Frame) -> list[str]:
    told = "; ".join(f"{report.instance}: {_report_line(report, frame)}" for report in reports)
    return [frame.texts.say("providers", reports=told)] if told else []


def _report_line(report: Report, frame: Frame) -> str:
    line = frame.texts.say(f"report.{report.status}", count=report.count)
    return _with_reason(line, report, frame)


def _with_reason(line: str, one: Report | Step, frame: Frame) -> str:
    why = reason_line(one, frame.texts, frame.now)
    took = f"{one.elapsed:.1f} s"
    return f"{line}, {why}, {took}" if why and why != line else f"{line}, {took}"


# --- pages ----------------------------------------------------------------------------------------------------------


def page_data(read: Read, frame: Frame) -> Data:
    page = read.result.page
    return {
        "url": read.url,
        **_document_data(page),
        "status": read.result.status,
        "provider": read.result.provider,
        "markdown": read.piece.text,
        "length": read.piece.length,
        "offset": read.piece.start,
        "next_offset": read.piece.next_offset,
        "truncated": read.piece.is_cut,
        "notes": [note.value for note in read.notes],
        "error": read.failure(frame),
        "trace": [_step_data(step) for step in read.result.steps],
        "elapsed_ms": milliseconds(read.result.elapsed),
    }


def _document_data(page: Page | None) -> Data:
    names = ("final_url", "title", "byline", "site_name", "published", "language", "content_type")
    return {name: getattr(page, name, None) or None for name in names}


def _step_data(step: Step) -> Data:
    return {
        "instance": step.instance,
        "status": step.status,
        "reason": None if step.reason is None else step.reason.value,
        "detail": step.detail,
        "elapsed_ms": milliseconds(step.elapsed),
        "billed": step.billed,
    }


def page_text(read: Read, frame: Frame) -> str:
    """The page between its two provenance lines, with what is known of it; or why there is none."""
    texts, page = frame.texts, read.result.page
    if page is None:
        failed = texts.say("failed", why=read.failure(frame))
        return "\n".join([f"## {read.url}", failed, *_tried(read.result.steps, frame)])
    opening = texts.say("untrusted_open", mark=frame.mark, url=read.url)
    closing = texts.say("untrusted_close", mark=frame.mark, url=read.url)
    facts = [_about(read, page, texts), *_notes(read.notes, texts)]
    if len(read.result.steps) > 1:
        facts += _tried(read.result.steps, frame)
    body = [opening, *_header(read.result.url, page, texts), "", _body(read.piece, texts), closing]
    return "\n".join([*facts, *body, *_way_on(read.piece, texts)])


def _header(url: str, page: Page, texts: Texts) -> list[str]:
    """What the page says of itself; it is as untrusted as the text, so it stands inside the marks."""
    facts = (("title", page.title), ("byline", page.byline), ("site", page.site_name), ("published", page.published))
    lines = [texts.say(f"page.{key}", value=_one_line(value)) for key, value in facts if value]
    moved = page.final_url and urldefrag(page.final_url).url != urldefrag(url).url
    return [*lines, texts.say("page.address", value=page.final_url)] if moved else lines


def _about(read: Read, page: Page, texts: Texts) -> str:
    piece = read.piece
    whole = piece.start == 0 and not piece.is_cut
    size = texts.say("page.length", length=piece.length)
    if not whole:
        size = texts.say("page.piece", start=piece.start, end=piece.end, length=piece.length)
    facts = [fact for fact in (page.content_type, page.language, size) if fact]
    return texts.say("page.about", provider=read.result.provider or "-", facts=", ".join(facts))


def _notes(notes: Sequence[Note], texts: Texts) -> list[str]:
    told = ", ".join(texts.say(f"note.{note.value}") for note in notes)
    return [texts.say("page.notes", notes=told)] if told else []


def _body(piece: Piece, texts: Texts) -> str:
    if piece.text:
        return piece.text
    return texts.say("page.past_end" if piece.length else "page.no_text")


def _way_on(piece: Piece, texts: Texts) -> list[str]:
    """Outside the marks, where page text cannot forge it."""
    if piece.next_offset is None:
        return []
    left = piece.length - piece.end
    return [texts.say("truncated", count=left), texts.say("continue", offset=piece.next_offset)]


def _tried(steps: Sequence[Step], frame: Frame) -> list[str]:
    told = [f"{step.instance}: {_with_reason(frame.texts.say(f'step.{step.status}'), step, frame)}" for step in steps]
    return [frame.texts.say("page.tried", steps="; ".join(told))] if told else []


def found_and_read_text(searched: Searched[MergedHit], reads: Sequence[Read], frame: Frame) -> str:
    """Each hit with its page, or with its snippet where the page could not be read."""
    lines = [f"## {searched.result.query}", _headline(searched, "hits", frame), ""]
    for rank, (merged, read) in enumerate(zip(searched.result.hits, reads, strict=True), 1):
        lines += _hit_lines(rank, merged, frame.texts)
        if read.result.page is None:
            lines += [f"   {frame.texts.say('snippet_only', why=read.failure(frame))}", ""]
        else:
            lines += [page_text(read, frame), ""]
    return "\n".join([*lines, *_providers(searched.result.reports, frame)]).rstrip()


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))
