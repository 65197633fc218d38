"""What kind of page this is: by the parts of its URL, its JSON-LD types, generator marks and repeated structure."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """Kinds that are read differently."""

    ARTICLE = "article"
    DOCUMENTATION = "documentation"
    FORUM = "forum"
    SERVICE = "service"
    LISTING = "listing"
    COLLECTION = "collection"
    PRODUCT = "product"
    UNKNOWN = "unknown"
