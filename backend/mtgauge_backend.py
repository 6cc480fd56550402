"""The build backend: setuptools, and a C compiler from the package registry where there is none.

pyproject.toml names this module (PEP 517). Every hook is setuptools' own, but for what the build of
a wheel needs: on a machine without a C compiler that is the package `ziglang` as well. The commands
below are used by setup.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setuptools import Distribution, build_meta
from setuptools.build_meta import (  # noqa: F401
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

import native


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *native.requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_editable(config_settings), *native.requirements()]


class BuildWithLibrary(build_py):  # type: ignore[misc]
    """Python files, then the compiled library beside its sources; in place for an editable one."""

    def run(self) -> None:
        super().run()
        placed = native.SOURCES
        if not self.editable_mode:
            placed = Path(self.build_lib) / "mtgauge" / "compare" / "native"
        native.build(placed)


class PlatformDistribution(Distribution):  # type: ignore[misc]
    """One that is for one kind of machine."""

    def has_ext_modules(self) -> bool:
        return True


class PlatformWheel(bdist_wheel):  # type: ignore[misc]
    """A wheel for every Python: the library is loaded through ctypes."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]
