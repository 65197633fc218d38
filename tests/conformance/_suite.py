"""Runs the official conformance suite and reads what it found."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
FAULTY = ("FAILURE", "WARNING")


def programs() -> Path:
    """Where tests/conformance/run has installed the suite and the Inspector."""
    return Path(os.environ["NODE_PROGRAMS"]) / "node_modules" / ".bin"


@dataclass(frozen=True)
class Outcome:
    """The statuses of a run's checks. checks: by scenario, pairs of a check and its status. told: faults in words."""

    checks: Mapping[str, list[tuple[str, str]]]
    told: Mapping[tuple[str, str], str]

    def counts(self) -> Counter[str]:
        return Counter(status for checks in self.checks.values() for _, status in checks)

    def faults(self) -> set[tuple[str, str]]:
        """Checks that did not pass, as pairs of scenario and check."""
        return {(name, check) for name, checks in self.checks.items() for check, status in checks if status in FAULTY}


def run_suite(url: str, revision: str, directory: Path) -> Outcome:
    """Every scenario of a revision against the server at `url`; the suite's own files go to `directory`."""
    command = [programs() / "conformance", "server", "--url", url, "--suite", "all"]
    done = subprocess.run(
        [*command, "--spec-version", revision, "--output-dir", directory],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "=== SUMMARY ===" in done.stdout, done.stdout + done.stderr
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(directory.glob("server-*/checks.json")):
        # The directory is named "server", the scenario, and the time of day.
        scenario = file.parent.name.removeprefix("server-").rpartition(f"-{file.parent.name[-24:]}")[0]
        found[scenario] = json.loads(file.read_text())
    return Outcome(
        {name: [(check["id"], check["status"]) for check in checks] for name, checks in found.items()},
        {
            (name, check["id"]): check.get("errorMessage") or check["description"]
            for name, checks in found.items()
            for check in checks
        },
    )
