"""Jobs for the worker tests. They live in a module of their own, since a worker imports them by name."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
from collections.abc import Iterator

from providers._contract import Evidence, Page, RateLimited


def double(number: int) -> int:
    return 2 * number


def where() -> tuple[int, dict[str, str]]:
    return os.getpid(), dict(os.environ)


def initial_environment() -> bytes:
    with open("/proc/self/environ", "rb") as file:
        return file.read()


def limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0]


def spin() -> None:
    while True:
        pass


def spin_in_c() -> None:
    import re

    re.match(r"(a+)+$", "a" * 64 + "b")


def eat() -> int:
    return len(bytearray(3 << 30))


def die() -> None:
    ctypes.string_at(0)


def chatter() -> str:
    print("loud on stdout")
    print("loud on stderr", file=sys.stderr)
    os.write(1, b"raw on stdout")
    os.write(2, b"raw on stderr")
    return "said"


def complain() -> None:
    raise RateLimited("slow down", retry_after=7.5, retry=False, evidence=Evidence("http://e.example/", status=429))


def stumble() -> None:
    raise ZeroDivisionError("a bug")


def page() -> Page:
    return Page("http://e.example/", "text")


def pages_then_spin(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"page {number}"
    spin()


def pages(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"page {number}"
    return count


def flood() -> bytes:
    return bytes(64 << 20)


def fatten() -> int:
    global _fat
    _fat = bytearray(b"x") * (300 << 20)
    return os.getpid()


class Evil:
    def __reduce__(self) -> object:
        return (os.getenv, ("HOME",))


def evil() -> object:
    return Evil()


def nap(seconds: float) -> None:
    time.sleep(seconds)
