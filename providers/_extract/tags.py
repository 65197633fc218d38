"""Which tags mean what, in one place."""

from __future__ import annotations

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section"
    " summary table tbody td tfoot th thead tr ul".split()
)

NOT_CONTENT = tuple(
    "script style link meta title object embed canvas audio video iframe select textarea svg"
    " option datalist map area frame frameset applet noscript template base input".split()
)
"""What never holds text that a person reads in the flow of the page; their data are taken out beforehand."""
