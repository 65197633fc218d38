"""SIGKILL at random points: the ledger never holds fewer units than the vendor was asked for (issue 3)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def kill(times: int, folder: Path) -> dict[str, Any]:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.actors.kill_child", str(times), str(seed), str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60 + times,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    print(found)
    assert found["calls"] > times
    assert found["slowest_opening_s"] < 1.0
    return found


def test_twenty_kills_lose_no_unit(tmp_path):
    assert kill(20, tmp_path)["kills"] == 20


@pytest.mark.soak
def test_a_thousand_kills_lose_no_unit(tmp_path):
    assert kill(1000, tmp_path)["kills"] == 1000
