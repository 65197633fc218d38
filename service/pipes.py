"""The pipes of a client over stdio, kept from everybody else: nothing but JSON-RPC gets into them.

Imports nothing that prints, since it comes before all that does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pipes:
    """Descriptors: what the client says, and where it hears. Whoever uses one closes it."""

    source: int
    sink: int


@contextmanager
def private_pipes() -> Iterator[Pipes]:
    """The client's pipes under numbers that nobody else knows, while 0 is empty and 1 is stderr.

    Whatever a library or a child process prints, while it is imported or later, thus lands on stderr. Both are put back
    at the end.
    """
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    # Streams of ours on these descriptors close them; the copies for the way back stay.
    back = os.dup(source), os.dup(sink)
    try:
        yield Pipes(source, sink)
    finally:
        _flush()
        for copy, standard in zip(back, (0, 1), strict=True):
            os.dup2(copy, standard)
            os.close(copy)


@contextmanager
def prints_on_stderr() -> Iterator[None]:
    """Stray prints land on stderr, while nobody knows yet whether stdout is a client's."""
    try:
        stdout = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them came closed, so nobody hears it
        yield
        return
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def _flush() -> None:
    """Let go of what Python and C code have printed and not written yet; the process would write it as it ends."""
    import ctypes

    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
