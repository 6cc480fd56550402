"""An extension of griffe: examples (`>>>`) in docstrings are shown as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n\S.*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fence what Python's prompt begins, up to the next empty line."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
