"""Provider types by name. Every file of this folder without a leading underscore is a type of that name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T", bound=type)

_types: dict[str, type[Any]] = {}


def register(name: str) -> Callable[[T], T]:
    """Make the decorated class known as provider type `name` (`semantic-scholar` lives in `semantic_scholar.py`)."""

    def keep(cls: T) -> T:
        _types[name] = cls
        return cls

    return keep


def lookup(name: str) -> type[Any]:
    """The class of provider type `name`, imported on demand. Raises KeyError for a type that does not exist."""
    if name not in _types:
        module = f"{__package__}.{name.replace('-', '_')}"
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise KeyError(name) from None
    return _types[name]


def type_names() -> tuple[str, ...]:
    """All provider types that exist, by their files."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return tuple(sorted(file.stem.replace("_", "-") for file in files))
