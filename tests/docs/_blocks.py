"""The fenced blocks of our documents, with what stands before them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. lead: the paragraph before it."""

    file: str
    language: str
    text: str
    lead: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text.strip().splitlines()[0][:60]}"


def documents() -> tuple[str, ...]:
    """All documents, relative to the repository."""
    return ("README.md", *sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").glob("*.md")))


def blocks(file: str, *languages: str) -> list[Block]:
    """The fenced blocks of a document, of these languages only where some are named."""
    text = (ROOT / file).read_text()
    found = []
    for match in _BLOCK.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["text"].splitlines(keepends=True))
        lead = text[: match.start()].rstrip().rpartition("\n\n")[2]
        if not languages or match["language"] in languages:
            found.append(Block(file, match["language"], body, lead))
    return found


def all_blocks(*languages: str) -> list[Block]:
    return [block for file in documents() for block in blocks(file, *languages)]


def block_after(file: str, beginning: str) -> str:
    """The text of the one block whose paragraph before it starts with `beginning`."""
    (found,) = [block for block in blocks(file) if block.lead.startswith(beginning)]
    return found.text
