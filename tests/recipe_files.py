"""Recipes as modules: what makes the package's own data is tested too."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

RECIPES = Path(__file__).parents[1] / "recipes"


@cache
def recipe(name: str) -> ModuleType:
    """The module of recipes/NAME.py."""
    spec = importlib.util.spec_from_file_location(f"recipes.{name}", RECIPES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module
