"""Carries the Dockerfile out without an engine, and asks the server that comes of it.

    unshare --mount python -m tests.packaging.image

Each stage has a root of its own: this machine's file system below and an empty layer on top, so that commands run as
they would in the image, under the paths and the user it names, and this machine stays as it is. It stands in for the
base image; Python is the one this runs on. Our source tree is hidden, /tmp is empty, and the environment is the
image's. The server then runs on a root that cannot be written, as docker-compose.yml has it, but for its volume.

Needs root and a mount namespace of its own.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.packaging._dockerfile import Instruction, Stage, context_files, parse

ROOT = Path(__file__).parents[2]
BASE_IMAGE = "python:3.11-slim"
UP_SECONDS, DOWN_SECONDS = 20.0, 26.0


@dataclass
class Image:
    """One stage being built in `root`, whose own layer is `layer`."""

    root: Path
    layer: Path
    user: str = "root"
    directory: str = "/"
    environment: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    )
    volumes: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def inside(self, path: str) -> Path:
        """Where an absolute path of the image, or one from its working directory, lies on this machine."""
        return self.root / os.path.join(self.directory, path).lstrip("/")

    def start(self, command: list[str], *, errors: int | None = None, **variables: str) -> subprocess.Popen[bytes]:
        """Start a command as the image's user, in its directory, with its environment and these variables."""
        home = subprocess.run(
            ["chroot", self.root, "getent", "passwd", self.user], capture_output=True, text=True, check=True
        ).stdout.split(":")[5]
        environment = {"HOME": home, **self.environment, **variables}
        line = f"cd {shlex.quote(self.directory)} && exec {shlex.join(command)}"
        return subprocess.Popen(
            ["chroot", f"--userspec={self.user}", self.root, "/bin/sh", "-c", line], env=environment, stderr=errors
        )

    def run(self, command: list[str], **variables: str) -> int:
        return self.start(command, **variables).wait()

    def is_healthy(self, **variables: str) -> bool:
        return self.start(self.health, errors=subprocess.DEVNULL, **variables).wait() == 0


# --- building ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_image(directory: Path) -> Iterator[Image]:
    """A root with an empty layer over this machine's files; unmounted at the end."""
    layer, work, root = (directory / name for name in ("layer", "work", "root"))
    for each in (layer, work, root):
        each.mkdir(parents=True)
    options = f"lowerdir=/,upperdir={layer},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, root], check=True)
    try:
        for each in (ROOT, Path("/tmp")):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", root / each.relative_to("/")], check=True)
        (root / "tmp").chmod(0o1777)
        for each in ("proc", "dev"):
            subprocess.run(["mount", "--rbind", f"/{each}", root / each], check=True)
        _provide_python(root)
        yield Image(root, layer)
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", root], check=False)


def _provide_python(root: Path) -> None:
    """What the base image has as /usr/local/bin/python, and every user may execute."""
    real = Path(sys.base_prefix) / "bin" / "python3"
    place = root / "usr/local/bin/python"
    place.unlink(missing_ok=True)
    # No link: environments made with it would look for the standard library beside the link.
    place.write_text(f'#!/bin/sh\nexec {shlex.quote(str(real))} "$@"\n')
    place.chmod(0o755)
    for parent in real.parents:
        place = root / parent.relative_to("/")
        place.chmod(place.stat().st_mode | 0o055)


def build(image: Image, stage: Stage, built: dict[str, Image]) -> None:
    """Carry out the steps of one stage. built: the stages before it, by name."""
    for step in stage.steps:
        say(f"{step.name} {step.rest}")
        perform(image, step, built)


def perform(image: Image, step: Instruction, built: dict[str, Image]) -> None:
    match step.name:
        case "RUN":
            # Flags only say what a builder may keep between two builds.
            if image.run(["/bin/sh", "-ec", step.rest], PIP_QUIET="2") != 0:
                raise SystemExit(f"failed: {step.rest}")
        case "COPY":
            copy(image, step, built)
        case "WORKDIR":
            image.directory = os.path.join(image.directory, step.rest)
            image.inside("").mkdir(parents=True, exist_ok=True)
        case "USER":
            image.user = step.rest
        case "ENV":
            for word in step.words:
                name, _, value = word.partition("=")
                image.environment[name] = value.replace("$PATH", image.environment["PATH"])
        case "VOLUME":
            image.volumes += step.words
        case "HEALTHCHECK":
            image.health = Instruction("CMD", step.rest.removeprefix("CMD ")).words
        case "CMD":
            image.command = step.words


def copy(image: Image, step: Instruction, built: dict[str, Image]) -> None:
    *sources, target = step.words
    allowed = context_files(ROOT)
    for source in sources:
        if (stage := step.flag("from")) is not None:
            found = built[stage].layer / source.lstrip("/")
        elif source in allowed:
            found = ROOT / source
        else:
            raise SystemExit(f"{source} is not in the build's context, see .dockerignore")
        place = image.inside(target)
        if found.is_dir():
            shutil.copytree(
                found, place, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(found, place / found.name if target.endswith("/") else place)


# --- running ----------------------------------------------------------------------------------------------------------


def try_out(image: Image, port: int) -> None:
    """Start the image's command, ask it, stop it. Raises SystemExit where something is not as it should be."""
    for volume in image.volumes:
        place = image.inside(volume)
        kept = image.layer.parent / "volume"
        shutil.copytree(place, kept)
        shutil.copystat(place, kept)
        owner = place.stat()
        os.chown(kept, owner.st_uid, owner.st_gid)
        subprocess.run(["mount", "--bind", kept, place], check=True)
    subprocess.run(["mount", "-o", "remount,ro", image.root], check=True)
    variables = {"MCP_PORT": str(port)}
    server = image.start(image.command, **variables)
    try:
        expect("the server answers /healthz", wait_until_up(server, port))
        expect("it does not run as root", os.stat(f"/proc/{server.pid}").st_uid != 0)
        expect("the health check succeeds", image.is_healthy(**variables))
        server.send_signal(signal.SIGTERM)
        expect("it ends by itself with code 0", server.wait(DOWN_SECONDS) == 0)
    finally:
        server.kill()
    expect("the health check fails afterwards", not image.is_healthy(**variables))
    files = {file.name for volume in image.volumes for file in image.inside(volume).iterdir()}
    expect("log and ledger are in the volume", {"research-mcp.log", "quota.sqlite3"} <= files)


def wait_until_up(server: subprocess.Popen[bytes], port: int) -> bool:
    give_up_at = time.monotonic() + UP_SECONDS
    while time.monotonic() < give_up_at and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.05)
    return False


def expect(claim: str, holds: bool) -> None:
    say(f"{'ok' if holds else 'FAILED'}: {claim}")
    if not holds:
        raise SystemExit(1)


def say(line: str) -> None:
    print(f"image: {' '.join(line.split())}", flush=True)


def main() -> None:
    from tests.e2e._stage import free_port

    stages = parse((ROOT / "Dockerfile").read_text())
    built: dict[str, Image] = {}
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="research-mcp-image-")))
        for number, stage in enumerate(stages):
            expect(f"{stage.image} is the base image this stands in for", stage.image == BASE_IMAGE)
            image = stack.enter_context(open_image(directory / str(number)))
            build(image, stage, built)
            built[stage.name] = image
        try_out(image, free_port())


if __name__ == "__main__":
    main()
