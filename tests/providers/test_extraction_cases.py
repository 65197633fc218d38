"""Every page of tests/cases holds what checks.json says of it, each as a test of its own name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from providers._contract import Document
from providers._extract.html import html_to_page

CASES = Path(__file__).parent.parent / "cases"
CHECKS = json.loads((CASES / "checks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("check", CHECKS, ids=[check["id"] for check in CHECKS])
def test_case_holds(check: dict[str, Any]) -> None:
    charset = check["header_charset"]
    document = Document(
        url=check["url"],
        final_url=check["url"],
        body=(CASES / f"{check['id']}.html").read_bytes(),
        content_type="text/html" + (f"; charset={charset}" if charset else ""),
    )

    markdown = html_to_page(document).markdown

    assert [text for text in check["must"] if text not in markdown] == []
    assert [text for text in check["must_not"] if text in markdown] == []
    assert [pattern for pattern in check["rx"] if not re.search(pattern, markdown, re.MULTILINE)] == []
    assert [pattern for pattern in check["rx_not"] if re.search(pattern, markdown, re.MULTILINE)] == []
