"""Addresses of papers: arXiv's own forms, and DOIs (arXiv's help pages and the practice of DOIs, read 2026-09)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

ARXIV_HOSTS = frozenset(("arxiv.org", "www.arxiv.org", "export.arxiv.org"))
DOI_HOSTS = frozenset(("doi.org", "www.doi.org", "dx.doi.org"))

_ARXIV_PATH = re.compile(r"/(abs|pdf|html|ps|src|e-print|format|tb)/(.+)")
_NEW = r"\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}"
_OLD = r"[a-z]+(?:-[a-z]+)*(?:\.[A-Z]{2})?/\d{2}(?:0[1-9]|1[0-2])\d{3}"
_ARXIV_ID = re.compile(rf"(?P<id>{_NEW}|{_OLD})(?P<version>v[1-9]\d{{0,2}})?", re.ASCII)
_SUBJECT_CLASS = re.compile(r"\.[A-Z]{2}(?=/)")
_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+", re.ASCII)
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)", re.IGNORECASE)
_PAIRS = ((")", "("), ("]", "["))


@dataclass(frozen=True, slots=True)
class Arxiv:
    """A paper of arXiv's; `version` is empty for the latest, else such as `v2`."""

    id: str
    version: str = ""

    @property
    def name(self) -> str:
        return self.id + self.version


@dataclass(frozen=True, slots=True)
class Doi:
    """A paper by its DOI, in the spelling of the address."""

    name: str


def paper_at(url: str) -> Arxiv | Doi | None:
    """The paper that an address stands for; None for everything else on these hosts, and for all other hosts."""
    try:
        parts = urlsplit(url)
        host, is_plain = _host(parts), not parts.username and parts.port in (None, 80, 443)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not is_plain:
        return None
    if host in ARXIV_HOSTS:
        return _of_arxiv(unquote(parts.path))
    return _of_doi(unquote(parts.path)) if host in DOI_HOSTS else None


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def arxiv_paper(text: str) -> Arxiv | None:
    """An identifier with or without a version; the old form loses its subject class."""
    found = _ARXIV_ID.fullmatch(text)
    return Arxiv(_SUBJECT_CLASS.sub("", found["id"]), found["version"] or "") if found else None


def _of_arxiv(path: str) -> Arxiv | None:
    found = _ARXIV_PATH.fullmatch(path.rstrip("/"))
    if found is None:
        return None
    name = found[2].removesuffix(".pdf") if found[1] == "pdf" else found[2]
    return arxiv_paper(name[6:] if name[:6].lower() == "arxiv:" else name)


def _of_doi(path: str) -> Arxiv | Doi | None:
    text = path.lstrip("/")
    found = _DOI.match(text[4:] if text[:4].lower() == "doi:" else text)
    if found is None:
        return None
    name = _without_punctuation(found[0])
    if not _DOI.fullmatch(name):
        return None
    of_arxiv = _ARXIV_DOI.fullmatch(name)
    return Doi(name) if of_arxiv is None else arxiv_paper(of_arxiv[1])


def _without_punctuation(name: str) -> str:
    """What a text around a DOI leaves behind it, a bracket only where it was not opened inside."""
    while name:
        is_unbalanced = any(name.endswith(end) and name.count(end) > name.count(start) for end, start in _PAIRS)
        if name[-1] not in ".,;\"'" and not is_unbalanced:
            break
        name = name[:-1]
    return name
