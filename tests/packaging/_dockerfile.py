"""A Dockerfile as a list of instructions by stage. Only what ours uses is understood; the rest is an error."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

KNOWN = {
    "FROM", "WORKDIR", "COPY", "RUN", "LABEL", "USER", "ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instruction:
    """`name` in upper case; `flags` are the words with two dashes before the rest."""

    name: str
    rest: str
    flags: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """What stands behind the flags, as an exec form or split as a shell does."""
        words: list[str] = json.loads(self.rest) if self.rest.startswith("[") else shlex.split(self.rest)
        return words

    def flag(self, name: str) -> str | None:
        return next((flag.partition("=")[2] for flag in self.flags if flag.startswith(f"--{name}=")), None)


@dataclass(slots=True)
class Stage:
    image: str
    name: str
    steps: list[Instruction] = field(default_factory=list)


def parse(text: str) -> list[Stage]:
    """The stages of a Dockerfile in order. Raises ValueError for an instruction that nobody here knows."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    stages: list[Stage] = []
    for line in filter(None, (line.strip() for line in joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name not in KNOWN:
            raise ValueError(f"unknown instruction: {line}")
        if name == "FROM":
            image, _, alias = rest.partition(" AS ")
            stages.append(Stage(image.strip(), alias.strip()))
            continue
        stages[-1].steps.append(_instruction(name, rest.strip()))
    return stages


def _instruction(name: str, rest: str) -> Instruction:
    flags = []
    while match := re.match(r"(--\S+)\s+", rest):
        flags.append(match[1])
        rest = rest[match.end() :]
    return Instruction(name, rest, tuple(flags))


def context_files(root: Path) -> list[str]:
    """Top-level names that `.dockerignore` lets into the build; it must exclude everything but what it names."""
    lines = (root / ".dockerignore").read_text().split()
    if lines[0] != "*":
        raise ValueError(".dockerignore must start by excluding everything")
    return [line[1:] for line in lines if line.startswith("!")]
