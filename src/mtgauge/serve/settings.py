"""What a server is told when it starts: where it listens, what it allows, where it keeps runs.

    settings = ServerSettings(state=Path("runs"), limits=Limits(segments=5_000))

A server that other machines can reach needs a token; `check` says so before anything is opened.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path

from mtgauge.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST = 12  # characters of a token


_SAID = {
    "upload": "the size of an upload (--max-upload)",
    "segments": "segments (--max-segments)",
    "waiting": "waiting runs (--max-waiting)",
    "seconds": "the time of a run (--time-limit)",
    "kept": "kept runs (--keep)",
}


@dataclass(frozen=True)
class Limits:
    """What one client may ask for; every refusal names its limit."""

    upload: int = 50 << 20  # bytes of one request
    segments: int = 100_000  # translations of one run: segments x systems
    waiting: int = 10  # runs in the queue
    seconds: int = 3600  # that a run may take
    quick: int = 200  # translations that /score answers at once
    quick_seconds: int = 60
    kept: int = 200  # earlier runs; beyond it the oldest is deleted

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise UsageError(f"The limit on {_SAID.get(name, name)} is 1 or more.")


@dataclass(frozen=True)
class ServerSettings:
    state: Path
    host: str = "127.0.0.1"
    token: str | None = None
    names: tuple[str, ...] = ()  # further names under which the server is reached
    metrics: tuple[str, ...] = ()  # specs on offer; none: every metric
    device: str = "auto"
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        if not self.is_local and self.token is None:
            raise UsageError(
                f"--host {self.host} can be reached from other machines: give --token TOKEN, which "
                "every client must know."
            )
        if self.token is not None and len(self.token) < SHORTEST:
            raise UsageError(f"--token is at least {SHORTEST} characters long.")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def answers_to(self, host: str) -> bool:
        """Whether a request may carry this Host header.

        A page elsewhere can point its own name at this machine (DNS rebinding): names that are
        not ours are refused. An address is no name, so it is safe where others may reach us.
        """
        name = _without_port(host).lower().rstrip(".")
        if name in LOOPBACK or name in {own.lower() for own in (self.host, *self.names)}:
            return True
        if self.is_local:
            return False
        return _is_address(name) or name == socket.gethostname().lower()


def _without_port(host: str) -> str:
    """The name in a Host header: [::1]:8000 and example.org:80 without their ports."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def state_folder() -> Path:
    """Where runs are kept: $XDG_STATE_HOME/mtgauge/serve, else ~/.local/state/mtgauge/serve."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "mtgauge" / "serve"
