"""The fake internet as a process: `python -m tests.fakenet [--port 9100]`.

Prints one line of JSON with the URLs and the environment for a server, then serves until it is told to stop. The port
`--port` itself is the control port, see `_control.py`; 0 takes any free ports.
"""

from __future__ import annotations

import argparse
import json
import sys

import trio

from tests.fakenet import open_fakenet
from tests.fakenet._control import Control
from tests.fakenet._remote import Remote


async def run(port: int) -> None:
    async with open_fakenet(port=port and port + 1) as net, trio.open_nursery() as nursery:
        control = Remote("control", Control(net), port=port)
        await nursery.start(control.listen)
        line = {"control": control.url, "urls": net.urls, "environment": net.environment()}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        await trio.sleep_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakenet", description="A fake internet on loopback.")
    parser.add_argument("--port", type=int, default=0, help="control port; the remotes follow (default: any free)")
    try:
        trio.run(run, parser.parse_args().port)
    except KeyboardInterrupt:
        sys.exit(0)


main()
