"""The server as it is, and beside it a clock that says how late the event loop is: `python -m tests.soak.ticking`.

Settings come from the environment. After SIGTERM it prints one line of JSON: every tick that came more than 10 ms late,
and the longest steps, each with the task that took it. A step's CPU time tells its own work from a wait for a core.
"""

from __future__ import annotations

import heapq
import json
import os
import time
from dataclasses import dataclass, field

import trio
import trio.abc

from service.instances import secrets_of
from service.logs import open_logs
from service.runtime import open_runtime
from service.server import open_listeners
from service.serving import serve_runtime
from service.settings import Settings, load_settings

TICK_SECONDS = 0.002
LATE_SECONDS = 0.010
KEPT_STEPS = 12


@dataclass(eq=False)
class Steps(trio.abc.Instrument):
    """The longest uninterrupted runs of any task: (wall seconds, CPU seconds, Unix time, task)."""

    longest: list[tuple[float, float, float, str]] = field(default_factory=list)
    _wall: float = 0.0
    _cpu: float = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = time.perf_counter() - self._wall
        if took < LATE_SECONDS:
            return
        entry = (round(took, 4), round(time.thread_time() - self._cpu, 4), time.time(), where(task))
        heapq.heappush(self.longest, entry)
        if len(self.longest) > KEPT_STEPS:
            heapq.heappop(self.longest)


def where(task: trio.lowlevel.Task) -> str:
    """The name of a task and where it stands now, innermost last."""
    frames = [f"{frame.f_code.co_name}:{line}" for frame, line in task.iter_await_frames()]
    return " > ".join([task.name, *frames[-6:]])


async def tick(late: list[tuple[float, float, float]]) -> None:
    """Note the ticks that come late, as (Unix time, seconds, seconds of CPU that the loop used of them)."""
    while True:
        due, cpu = time.perf_counter() + TICK_SECONDS, time.thread_time()
        await trio.sleep(TICK_SECONDS)
        lateness = time.perf_counter() - due
        if lateness >= LATE_SECONDS:
            late.append((time.time(), round(lateness, 4), round(min(lateness, time.thread_time() - cpu), 4)))


async def run(settings: Settings) -> None:
    late: list[tuple[float, float, float]] = []
    steps = Steps()
    trio.lowlevel.add_instrument(steps)
    async with trio.open_nursery() as nursery, open_runtime(settings) as runtime:
        nursery.start_soon(tick, late)
        await serve_runtime(runtime, open_listeners(settings.mcp_host, settings.mcp_port))
        nursery.cancel_scope.cancel()
    print(json.dumps({"late": late, "steps": sorted(steps.longest, reverse=True)}))


def main() -> None:
    """The log goes the way it goes in service, through its own thread, and not to the pipe that has the figures."""
    settings = load_settings(os.environ)
    with open_logs(settings, secrets_of(settings), stderr_level="WARNING"):
        trio.run(run, settings)


if __name__ == "__main__":
    main()
