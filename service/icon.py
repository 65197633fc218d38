"""The server's icon as a `data:` address, which a client can show without fetching anything.

It goes out with every answer of the newer protocol, which names the server in each result; hence its few bytes.
"""

from __future__ import annotations

from base64 import b64encode

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="10" fill="#1d4f8f"/>'
    '<g fill="none" stroke-linecap="round"><path d="M11 12h22M11 20h7M11 28h5" stroke="#9cc4f2" stroke-width="3"/>'
    '<path d="M35 35l5 5M18 27a9 9 0 1 1 18 0a9 9 0 1 1-18 0" stroke="#fff" stroke-width="4"/></g></svg>'
)


def data_uri() -> str:
    """The drawing as the address of an icon."""
    return f"data:image/svg+xml;base64,{b64encode(SVG.encode()).decode()}"
