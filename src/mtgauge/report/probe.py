"""Probes as text: a table of shares, and histograms of the d-statistic."""

from __future__ import annotations

from collections.abc import Sequence

from mtgauge.meta.probes import Probe
from mtgauge.report.writers import draw, fixed, json_text, visible


def render(found: Sequence[Probe], format: str) -> str:
    """One row per probe, in one of `writers.FORMATS`."""
    if format == "json":
        return json_text({"rows": [p.to_dict() for p in found]})
    grid = [["metric", "lp", "probe", "n", "preferred", "mean d", "sd d", "words known"]]
    for p in found:
        facts = p.to_dict()
        grid.append(
            [
                p.metric,
                p.lp or "-",
                p.probe,
                str(facts["n"]),
                _percent(facts["share"], 1),
                fixed(facts["d_mean"], "+.4f"),
                fixed(facts["d_sd"], ".4f"),
                _percent(p.coverage, 0),
            ]
        )
    return draw(grid, format) + "\n"


def _percent(share: float | None, places: int) -> str:
    return "-" if share is None else f"{100 * share:.{places}f} %"


def histogram(p: Probe) -> str:
    """How the d-statistic is spread, one line per bin."""
    counts, edges = p.histogram()
    top = max([*counts, 1])
    lines = [visible(f"{p.metric}, {p.lp or '-'}, {p.probe}: d = m(worse) - m(human)")]
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        lines.append(f"{low:+.3f}..{high:+.3f} {'#' * round(50 * count / top)} {count}")
    return "\n".join(lines) + "\n"
