"""Quality and speed of the HTML reader on the labelled pages, beside trafilatura with its defaults, from one run.

`python tests/bench/extraction.py` prints precision, recall and F1 by kind of page, and milliseconds per page. The
pages lie next to the repository (`../shared/corpus`) and are not part of it.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"

Scores = dict[str, dict[str, Any]]


def load_scorer() -> ModuleType:
    """The scoring script that belongs to the pages."""
    spec = importlib.util.spec_from_file_location("corpus_score", CORPUS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True  # the folder may be read-only
    spec.loader.exec_module(module)
    return module


def load_pages() -> list[tuple[str, str, bytes]]:
    """Id, address and bytes of each labelled page."""
    pages = []
    for line in filter(None, (CORPUS / "labels.jsonl").read_text(encoding="utf-8").split("\n")):
        label = json.loads(line)
        body = gzip.decompress((CORPUS / "pages" / f"{label['id']}.html.gz").read_bytes())
        pages.append((label["id"], label["url"], body))
    return pages


def ours(url: str, body: bytes) -> str:
    """Markdown of our reader."""
    from providers._contract import Document
    from providers._extract.html import html_to_page

    return html_to_page(Document(url=url, final_url=url, body=body)).markdown


def plain(url: str, body: bytes) -> str:
    """Markdown of trafilatura with its defaults."""
    import trafilatura

    return trafilatura.extract(body, url=url, output_format="markdown") or ""


def compare(
    readers: dict[str, Callable[[str, bytes], str]], *, every: int = 1
) -> tuple[dict[str, Scores], dict[str, list[float]]]:
    """Scores by reader and page, and seconds of CPU by reader and page; readers take turns on each page.

    `every`: read each nth page only.
    """
    scorer = load_scorer()
    pages = load_pages()[::every]
    names = {name for name, _, _ in pages}
    labels = {name: label for name, label in scorer.load_labels(CORPUS).items() if name in names}
    texts: dict[str, dict[str, str]] = {name: {} for name in readers}
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for read in readers.values():
        read(pages[0][1], pages[0][2])  # imports and caches
    for identifier, url, body in pages:
        for name, read in readers.items():
            started = time.process_time()
            texts[name][identifier] = read(url, body)
            seconds[name].append(time.process_time() - started)
    return {name: scorer.evaluate(found, labels) for name, found in texts.items()}, seconds


def by_kind(scores: Scores) -> dict[str, tuple[float, float, float]]:
    """Mean precision, recall and F1 of each kind of page, and of all."""
    kinds = sorted({row["type"] for row in scores.values()})
    table = {}
    for kind in [*kinds, "all"]:
        rows = [row for row in scores.values() if kind in (row["type"], "all")]
        table[kind] = tuple(statistics.fmean(row[key] for row in rows) for key in ("p", "r", "f1"))
    return table  # type: ignore[return-value]


def main() -> None:
    if not CORPUS.exists():
        print("extraction: skipped, the labelled pages (../shared/corpus) are not here")
        return
    scores, seconds = compare({"ours": ours, "trafilatura": plain})
    print(f"{'extraction':<16}" + "".join(f"{name + ' P/R/F1':>26}" for name in scores))
    tables = {name: by_kind(rows) for name, rows in scores.items()}
    for kind in tables["ours"]:
        cells = ("/".join(f"{value:.3f}" for value in table[kind]) for table in tables.values())
        print(f"{kind:<16}" + "".join(f"{cell:>26}" for cell in cells))
    for name, values in seconds.items():
        milliseconds = sorted(1_000 * value for value in values)
        p95 = milliseconds[int(0.95 * len(milliseconds))]
        print(f"{name:<16}median {statistics.median(milliseconds):.1f} ms, p95 {p95:.1f} ms a page")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
