"""Reads labelled real pages through a whole server, with the SDK's client, and scores what comes back.

`python -m tests.bench.corpus FOLDER`, where FOLDER holds `pages/ID.html.gz`, `labels.jsonl` and `score.py`. The pages
are served over loopback. Ends with 1 if a page crashed or timed out, or the F1 is below that of plain trafilatura.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import trio
from mcp import Client

from tests.e2e._stage import server_process
from tests.fakenet import open_fakenet

PLAIN_TRAFILATURA_F1 = 0.82
AT_ONCE = 4
CALL_SECONDS = 60.0


async def read_all(pages: dict[str, bytes], directory: Path) -> dict[str, dict[str, Any]]:
    """The structured answer for each page; `{"status": sentence}` where the call was an error."""
    answers: dict[str, dict[str, Any]] = {}
    limiter = trio.CapacityLimiter(AT_ONCE)
    async with open_fakenet([]) as net:
        for name, body in pages.items():
            net.site.put(f"/{name}.html", body)
        environment = {"ALLOW_PRIVATE_NETWORK": "true", "READ_BATCH_MAX_CHARS": "0", "LOG_LEVEL": "WARNING"}
        with await trio.to_thread.run_sync(_entered, environment, directory) as server:
            async with Client(server.mcp_url) as client, trio.open_nursery() as nursery:

                async def read(name: str) -> None:
                    async with limiter:
                        with trio.move_on_after(CALL_SECONDS):
                            url = f"{net.urls['web']}/{name}.html"
                            result = await client.call_tool("read_page", {"url": url})
                            text = " ".join(getattr(block, "text", "") for block in result.content)
                            answers[name] = {"status": text} if result.is_error else result.structured_content

                for name in pages:
                    nursery.start_soon(read, name)
            assert server.process.poll() is None, "the server is gone"
    return answers


class _Entered:
    """A server that is up already, as a context manager: starting it blocks, and the fakes must run meanwhile."""

    def __init__(self, environment: dict[str, str], directory: Path) -> None:
        self._manager = server_process(environment, directory)
        self._server = self._manager.__enter__()

    def __enter__(self) -> Any:
        return self._server

    def __exit__(self, *error: Any) -> None:
        self._manager.__exit__(*error)


def _entered(environment: dict[str, str], directory: Path) -> _Entered:
    return _Entered(environment, directory)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.corpus", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    pages = {path.name.partition(".")[0]: gzip.decompress(path.read_bytes()) for path in folder.glob("pages/*.html.gz")}
    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        answers = trio.run(read_all, pages, Path(directory) / "server")
        seconds = time.perf_counter() - started
        results = Path(directory) / "results.json"
        results.write_text(json.dumps({name: answer.get("markdown", "") for name, answer in answers.items()}))
        score = [sys.executable, str(folder / "score.py"), str(results), "--corpus", str(folder)]
        sys.stdout.write(subprocess.run(score, capture_output=True, text=True, check=True).stdout)
        whole = json.loads(subprocess.run([*score, "--json"], capture_output=True, text=True, check=True).stdout)
    failed = {name: answer["status"] for name, answer in answers.items() if answer["status"] != "success"}
    late = sorted(set(pages) - set(answers))
    late += sorted(name for name, status in failed.items() if "timeout" in status)
    f1 = whole["all"]["f1"]
    sys.stdout.write(
        f"\n{len(pages)} pages in {seconds:.1f} s, {len(failed)} failed, {len(late)} timed out, F1 {f1:.3f}\n"
    )
    for name, sentence in sorted(failed.items()):
        sys.stdout.write(f"  {name}: {sentence}\n")
    return int(bool(late) or f1 < PLAIN_TRAFILATURA_F1)


if __name__ == "__main__":
    sys.exit(main())
