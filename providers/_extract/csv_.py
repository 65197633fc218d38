"""CSV and TSV as one table."""

from __future__ import annotations

import csv
import io
from itertools import islice

from providers._contract import Document

from .decode import decode
from .drafts import MAX_TEXT_CHARS, Draft, table
from .formats import ending_of, media_type

MAX_ROWS = 5_000
_MAX_COLUMNS = 200
_SAMPLE_CHARS = 16_000
_DELIMITERS = ",;\t|"


def read_csv(document: Document) -> Draft:
    """The rows as a GFM table, at most 5,000 of them; the delimiter is found by looking."""
    text = decode(document.body, document.content_type)
    csv.field_size_limit(MAX_TEXT_CHARS)
    is_tsv = ending_of(document) in ("tsv", "tab") or media_type(document.content_type) == "text/tab-separated-values"
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if is_tsv else delimiter_of(text))
    try:
        rows = list(islice((row[:_MAX_COLUMNS] for row in reader if row), MAX_ROWS + 1))
    except csv.Error:  # a field without end, a NUL: no table then
        return Draft(text)
    return Draft(table(rows[:MAX_ROWS]), truncated=len(rows) > MAX_ROWS)


def delimiter_of(text: str) -> str:
    """The delimiter that cuts the first lines into the most equal rows; a comma where none does.

    (csv.Sniffer guesses among all characters, takes time in the square of a line, and fails on one column.)
    """
    sample = text[:_SAMPLE_CHARS]
    whole_lines = sample if len(text) <= _SAMPLE_CHARS else sample[: sample.rfind("\n") + 1] or sample
    return max(_DELIMITERS, key=lambda delimiter: _fit(whole_lines, delimiter))


def _fit(sample: str, delimiter: str) -> float:
    """The share of rows that have the most common width, with a little for more columns; 0 for a single column."""
    try:
        widths = [len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        return 0.0
    common = max(set(widths), key=widths.count, default=1)
    return widths.count(common) / len(widths) + min(common, 50) / 1_000 if common > 1 else 0.0
