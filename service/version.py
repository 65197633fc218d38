"""What the installed package says of itself."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata, version


def own_version() -> str:
    """The version of the installed package; `0` where it runs from a folder that was never installed."""
    try:
        return version("research-mcp")
    except PackageNotFoundError:
        return "0"


def own_website() -> str | None:
    """The home page that whoever built the package gave it (`[project.urls]`), None without one."""
    try:
        lines = metadata("research-mcp").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = (line.partition(",") for line in lines)
    return next((url.strip() for label, _, url in named if label.strip().lower() == "homepage"), None)
