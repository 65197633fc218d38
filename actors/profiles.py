"""The browsers we can look like: targets of curl_cffi 0.17, pinned by number, with what their header sets lack.

A target brings TLS and HTTP/2 settings and the headers of its browser (seen 2026-08); those have flaws that no browser
would show on a page that somebody opens, which is what `fixes` are for. Aliases such as `chrome` move with releases
of the library and are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import structlog
from curl_cffi import Curl

# Browsers keep these for trustworthy origins, and offer only the old encodings over plain http.
_SECURE_ONLY = (
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-user",
    "sec-fetch-dest",
    "te",
)
ENCODINGS = "gzip, deflate, br, zstd"
PLAIN_ENCODINGS = "gzip, deflate"

log = structlog.get_logger(__name__)

Fixes = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Profile:
    """One browser. fixes: headers to send instead of those of the target; None takes one out."""

    target: str
    fixes: Fixes = field(default_factory=dict)

    def headers(self, scheme: str) -> dict[str, str | None]:
        """What differs from the target's own headers for a page of that scheme; None takes a header out."""
        if scheme == "https":
            return dict(self.fixes)
        without: dict[str, str | None] = dict.fromkeys(_SECURE_ONLY)
        return {**self.fixes, **without, "accept-encoding": PLAIN_ENCODINGS}


_NO_RELOAD: Fixes = MappingProxyType({"cache-control": None})
_NEW_TAB: Fixes = MappingProxyType({"sec-fetch-site": "none"})
_OPENED: Fixes = MappingProxyType(
    {
        "upgrade-insecure-requests": "1",
        "sec-fetch-dest": "document",
        "sec-fetch-mode": "navigate",
        "sec-fetch-site": "none",
        "sec-fetch-user": "?1",
        "priority": "u=0, i",
    }
)

PROFILES: tuple[Profile, ...] = (
    Profile("chrome152", _NO_RELOAD),
    Profile("chrome152_macos", _NO_RELOAD),
    Profile("chrome151"),
    Profile("chrome151_macos"),
    Profile("firefox155", _OPENED),
    Profile("firefox154", _NEW_TAB),
    Profile("safari270", _NEW_TAB),
    Profile("safari270_ios", _NEW_TAB),
)


def known_profiles(profiles: Sequence[Profile] = PROFILES) -> tuple[Profile, ...]:
    """Those that the installed library has, with a log line for each that it has not.

    Raises RuntimeError where none is left: a request would go out with the fingerprint of the bare library.
    """
    known = []
    for profile in profiles:
        if _is_known(profile.target):
            known.append(profile)
        else:
            log.warning("profile_unknown", target=profile.target)
    if not known:
        raise RuntimeError("the installed curl_cffi has none of the browser profiles")
    return tuple(known)


def _is_known(target: str) -> bool:
    curl = Curl()
    try:
        return curl.impersonate(target) == 0
    finally:
        curl.close()
