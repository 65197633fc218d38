"""What a process holds, by what the kernel says of it."""

from __future__ import annotations

import os
from pathlib import Path

LISTENING = "0A"


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sockets(pid: int) -> int:
    return sum(leads_to(descriptor).startswith("socket:") for descriptor in Path(f"/proc/{pid}/fd").iterdir())


def leads_to(descriptor: Path) -> str:
    """What a descriptor stands for; nothing if it was closed just now."""
    try:
        return os.readlink(descriptor)
    except FileNotFoundError:
        return ""


def connections(pid: int, port: int) -> int:
    """The process's open TCP connections that came in on `port`."""
    inodes = {leads_to(descriptor)[8:-1] for descriptor in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    # Columns: number, local address, remote address, state, and in the tenth place the inode.
    return sum(int(row[1].rpartition(":")[2], 16) == port and row[3] != LISTENING and row[9] in inodes for row in rows)
