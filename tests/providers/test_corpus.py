"""The reader on 120 labelled pages: quality by kind of page, visible text kept, and no page known by name."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
CASES = ROOT / "tests" / "cases"

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="the labelled pages (../shared/corpus) are not here")

FLOORS = {
    "article": 0.92,
    "collection": 0.87,
    "documentation": 0.95,
    "forum": 0.795,
    "listing": 0.81,
    "product": 0.85,
    "service": 0.92,
    "all": 0.89,
}
EVERY_FOURTH = 0.92


def load_bench():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("bench_extraction", ROOT / "tests" / "bench" / "extraction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_corpus
def test_quality_on_every_fourth_labelled_page_is_kept() -> None:
    bench = load_bench()

    scores, _ = bench.compare({"ours": bench.ours}, every=4)

    assert bench.by_kind(scores["ours"])["all"][2] >= EVERY_FOURTH


@needs_corpus
@pytest.mark.soak
def test_quality_on_the_labelled_pages_is_kept_for_every_kind() -> None:
    bench = load_bench()

    scores, _ = bench.compare({"ours": bench.ours})
    found = {kind: values[2] for kind, values in bench.by_kind(scores["ours"]).items()}

    assert {kind: round(found[kind], 3) for kind, floor in FLOORS.items() if found[kind] < floor} == {}


def product_code() -> str:
    files = sorted((ROOT / "providers" / "_extract").glob("*.py"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_no_case_is_known_by_name() -> None:
    code = product_code()
    checks = json.loads((CASES / "checks.json").read_text(encoding="utf-8"))
    literals = {check["id"] for check in checks} | {urlsplit(check["url"]).netloc for check in checks}
    literals |= {text for check in checks for text in check["must"] + check["must_not"] if len(text) > 8}
    literals -= {"javascript:"}  # a scheme, not a page

    assert sorted(literal for literal in literals if literal in code) == []


@needs_corpus
def test_no_labelled_page_is_known_by_name() -> None:
    code = product_code()
    labels = [json.loads(line) for line in (CORPUS / "labels.jsonl").read_text(encoding="utf-8").split("\n") if line]
    hosts = {urlsplit(label["url"]).netloc.removeprefix("www.") for label in labels}
    identifiers = {label["id"] for label in labels}

    assert sorted(host for host in hosts if host and host in code) == []
    assert sorted(identifier for identifier in identifiers if re.search(rf"(?<!\d){identifier}(?!\d)", code)) == []
