"""What of the conformance suite does not apply, each with its reason.

An entry that passes after all fails the run, as does a scenario that fails and is no entry: nothing can hide here.
"""

from __future__ import annotations

from collections.abc import Mapping

NO_FIXTURE = "calls a tool of the suite's reference server; answered by the same stack in fixtures.py"
NO_PROMPTS = "the product has tools only and advertises no prompts; answered by the same stack in fixtures.py"
NO_RESOURCES = "the product has tools only and advertises no resources; answered by the same stack in fixtures.py"
NO_LOGGING = "the product advertises no logging; answered by the same stack in fixtures.py"
NO_COMPLETION = "completion is of prompts and resources; answered by the same stack in fixtures.py"
NO_SESSION = (
    "of the era with handshake, asks for a session: the transport is stateless in both eras, so that a client that "
    "leaves cancels its call"
)
NO_BACK_CHANNEL = "the server asks its client something in the middle of a call, which takes a session; ours never asks"

# --- scenarios ------------------------------------------------------------------------------------------------------

SESSIONS: Mapping[str, str] = {
    "server-sse-polling": f"{NO_SESSION}; nothing can be resumed",
    "tools-call-sampling": NO_BACK_CHANNEL,
    "tools-call-elicitation": NO_BACK_CHANNEL,
    "elicitation-sep1034-defaults": NO_BACK_CHANNEL,
    "elicitation-sep1330-enums": NO_BACK_CHANNEL,
}
"""Left out of the stack with the suite's fixtures."""

PRODUCT: Mapping[str, str] = SESSIONS | {
    "completion-complete": NO_COMPLETION,
    "logging-set-level": NO_LOGGING,
    **dict.fromkeys(
        (
            "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ),
        NO_PROMPTS,
    ),
    **dict.fromkeys(
        (
            "resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read",
            "resources-subscribe", "resources-unsubscribe",
        ),
        NO_RESOURCES,
    ),
    **dict.fromkeys(
        (
            "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
            "tools-call-mixed-content", "tools-call-with-logging", "tools-call-error", "tools-call-with-progress",
            "json-schema-2020-12", "http-custom-header-server-validation",
            "input-required-result-basic-elicitation", "input-required-result-basic-sampling",
            "input-required-result-basic-list-roots", "input-required-result-request-state",
            "input-required-result-multiple-input-requests", "input-required-result-multi-round",
            "input-required-result-missing-input-response", "input-required-result-non-tool-request",
            "input-required-result-result-type", "input-required-result-tampered-state",
            "input-required-result-capability-check", "input-required-result-ignore-extra-params",
        ),
        NO_FIXTURE,
    ),
}  # fmt: skip
"""Left out of the product as it is."""

# --- single checks of scenarios that apply otherwise ------------------------------------------------------------------

SESSION_CHECKS: Mapping[tuple[str, str], str] = {
    ("server-sse-multiple-streams", "server-sse-multiple-streams-session"): NO_SESSION,
}
PRODUCT_CHECKS: Mapping[tuple[str, str], str] = SESSION_CHECKS | {
    ("sep-2164-resource-not-found", "sep-2164-error-code"): NO_RESOURCES,
    ("sep-2164-resource-not-found", "sep-2164-data-uri"): NO_RESOURCES,
    ("caching", "sep-2549-prompts-list-caching-hints"): NO_PROMPTS,
    ("caching", "sep-2549-resources-list-caching-hints"): NO_RESOURCES,
    ("caching", "sep-2549-resources-templates-list-caching-hints"): NO_RESOURCES,
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): NO_FIXTURE,
    ("server-stateless", "sep-2575-missing-capability-http-400"): NO_FIXTURE,
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"): NO_FIXTURE,
    ("server-stateless", "sep-2575-server-no-log-without-loglevel"): NO_FIXTURE,
}
