"""What a worker may say to its parent, and what the parent makes of it.

A worker has parsed foreign bytes with a lot of C code, so its frames are unpickled with a narrow list of classes.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from ._contract import ProviderError

FAT_BYTES = 250 << 20
"""A worker that holds more than this after a job is replaced."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A frame of a worker. `tag`: part, done, error, bug, large, memory; of the parent's own: `late` and `gone`."""

    tag: str
    payload: Any = None
    resident_bytes: int = 0

    @property
    def leaves_worker_usable(self) -> bool:
        return self.tag in ("done", "error", "bug", "large") and self.resident_bytes < FAT_BYTES


GONE = Reply("gone")
LATE = Reply("late")

_BAD_FRAME = (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError, AttributeError, ImportError)
"""What unpickling a frame that no worker of ours has written may raise."""


class _Narrow(pickle.Unpickler):
    """Loads value types of ours and dates, nothing else: a worker taken over by a hostile file cannot call anything."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("providers."):
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, (Enum, ProviderError))):
                return found
        if module == "datetime" and name in ("date", "datetime", "timezone", "timedelta"):
            return getattr(import_module(module), name)
        if module == "builtins" and name in ("frozenset", "set", "bytearray"):
            return getattr(import_module(module), name)
        raise pickle.UnpicklingError(f"a worker sent {module}.{name}")


def load_reply(frame: bytes | bytearray) -> Reply:
    """Unpickle a worker's frame with the narrow list of classes above; `GONE` for one that no worker of ours sends."""
    try:
        return Reply(*_Narrow(io.BytesIO(frame)).load())
    except _BAD_FRAME:
        return GONE


def unpack_error(packed: tuple[Any, ...]) -> ProviderError:
    """The typed error that a worker raised, with all it said."""
    kind, detail, retry_after, retry, evidence = packed
    error: ProviderError = kind(detail, retry_after=retry_after, retry=retry, evidence=evidence)
    return error
