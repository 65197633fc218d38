"""The remote control of a fake internet that runs as its own process: faults in, requests seen out, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakenet._faults import by_name
from tests.fakenet._http import Answer, Request, as_json

if TYPE_CHECKING:
    from tests.fakenet import Fakenet


class Control:
    """Handler of the control port.

    GET /urls, GET /environment, GET /calls, GET /requests?remote=NAME; POST /play with {remote, fault, arguments, path,
    times}; POST /heal, /forget and /down with {remote}, each for all remotes when it names none.
    """

    def __init__(self, net: Fakenet) -> None:
        self._net = net

    def __call__(self, request: Request) -> Answer:
        try:
            return as_json(self._answer(request.method, request.path, request))
        except (KeyError, TypeError, ValueError) as error:
            return as_json({"error": f"{type(error).__name__}: {error}"}, 400)

    def _answer(self, method: str, path: str, request: Request) -> Any:
        net = self._net
        match method, path:
            case "GET", "/urls":
                return net.urls
            case "GET", "/environment":
                return net.environment()
            case "GET", "/calls":
                return {name: remote.calls for name, remote in net.remotes.items()}
            case "GET", "/requests":
                return [_seen(seen) for seen in net[request.query["remote"]].requests]
            case "POST", "/play":
                order = request.json
                fault = by_name(order["fault"], order.get("arguments", {}))
                net[order["remote"]].play(fault, path=order.get("path"), times=order.get("times"))
            case "POST", "/heal" | "/forget" | "/down" | "/up":
                order = request.json if request.body else {}
                for remote in [net[order["remote"]]] if "remote" in order else net.remotes.values():
                    _command(remote, path)
            case _:
                raise ValueError(f"no such command: {method} {path}")
        return {}


def _command(remote: Any, path: str) -> None:
    match path:
        case "/heal":
            remote.heal()
        case "/forget":
            remote.forget()
        case "/down":
            remote.go_down()
        case "/up":
            remote.come_up()


def _seen(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "target": request.target,
        "headers": request.headers,
        "body": request.body.decode("utf-8", "replace"),
        "wall": request.wall,
        "disconnected_wall": request.disconnected_wall,
    }
