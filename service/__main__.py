"""`research-mcp` and `python -m service`. Worker processes import this file anew, so it imports nothing by itself."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from service.pipes import prints_on_stderr

    # Nothing that imports make is garbage.
    gc.disable()
    with prints_on_stderr():
        from service.cli import run
    gc.freeze()
    gc.enable()

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
