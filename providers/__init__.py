"""Provider types: one remote API or one way of reading each. Nothing here knows actors or the service."""

from ._registry import lookup, register, type_names

__all__ = ["lookup", "register", "type_names"]
