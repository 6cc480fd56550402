"""The models that come with the package, and the one place that knows where they are.

shipped("encoder")      the folder of the embedded encoder
shipped("vectors/de")   German word vectors
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def shipped(name: str) -> Path:
    """The folder of a shipped model; it may not exist."""
    return FOLDER / name
