"""Stand-in until the page of issue 17 lands: the table as one HTML file."""

from __future__ import annotations

import html

from mtgauge.engine.result import Result
from mtgauge.report.table import render as table


def render(result: Result) -> str:
    return f"<!doctype html><title>report</title><pre>{html.escape(table(result, 'table'))}</pre>"
