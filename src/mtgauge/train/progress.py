"""What a training says while it runs: lines on standard error, at once."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Said however quiet a training is."""
    say(f"warning    {text}")
