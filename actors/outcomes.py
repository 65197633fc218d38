"""What a failure says about the call itself."""

from __future__ import annotations

from actors.messages import Failure
from actors.policy import POLICY


def was_asked(failure: Failure) -> bool:
    """Whether the provider was called; the others are reported as skipped.

    `quota_spent` is known before the call, or said by the remote: then the call has cost a unit.
    """
    return POLICY[failure.kind].asked or failure.billed > 0
