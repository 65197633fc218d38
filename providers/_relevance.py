"""Whether a scraped page is a result set for the query at all, or something else the site showed instead. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

IRRELEVANT = "irrelevant"

# Operators restrict a search and need not appear in what it finds; what is excluded certainly need not.
_OPERATOR = re.compile(r"(?<!\S)(?:-\S+|(?:filetype|ext|lang|language|region|before|after):\S+|AND|OR|NOT)(?!\S)")
_WORD = re.compile(r"\w+")
_STEM_CHARS = 4
# Scripts written without spaces: what `\w+` calls a word there is a sentence.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def is_relevant(query: str, entries: Iterable[str]) -> bool:
    """Does any of `entries` (title, snippet and address of one entry, joined) share a term with `query`?

    Words are compared by their first four letters, since engines stem and correct spelling; scripts without spaces
    by pairs of characters. A query without a single term is relevant to everything.
    """
    terms = _terms(_OPERATOR.sub(" ", query))
    return not terms or any(not terms.isdisjoint(_terms(_readable(entry))) for entry in entries)


def _readable(entry: str) -> str:
    return unquote(entry) if "%" in entry else entry


def _terms(text: str) -> set[str]:
    folded = _fold(text)
    terms: set[str] = set()
    for word in _WORD.findall(folded.replace("_", " ")):
        terms.update(_pairs(word) if _UNSPACED.search(word) else {word[:_STEM_CHARS]})
    return terms


def _fold(text: str) -> str:
    """Lower case, compatibility forms made one, accents dropped."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _pairs(word: str) -> set[str]:
    return {word[at : at + 2] for at in range(max(len(word) - 1, 1))}
