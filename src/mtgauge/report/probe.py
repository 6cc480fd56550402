"""Probes as text: tables of shares, and histograms of the d-statistic."""

from __future__ import annotations

from collections.abc import Sequence

from mtgauge.meta.probes import Probe
from mtgauge.meta.robust import ALL, Robust
from mtgauge.report.writers import draw, escape, fixed, visible


def render(found: Sequence[Probe], format: str) -> str:
    """One row per probe, in one of `writers.TABLES`."""
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
    text = draw(grid, format)
    if format in ("table", "markdown", "latex"):
        for p in found:
            if 2 * p.equal > len(p.known):
                said = (
                    f"{p.metric}, {p.probe}: {p.equal} of {len(p.known)} worse texts score exactly "
                    "as the human translation, which is no preference for it."
                )
                text += f"\n\n{escape(said, format)}"
    return text + "\n"


def render_robust(found: Sequence[Robust], format: str) -> str:
    """One row per language pair and fault, one column per metric, in one of `writers.TABLES`."""
    metrics = list(dict.fromkeys(row.metric for row in found))
    cells = {(row.lp, row.fault, row.metric): row for row in found}
    cases = {(row.lp, row.fault): row.cases for row in found}
    grid = [["fault", "lp", "cases", *metrics]]
    for (lp, fault), made in cases.items():
        each = (cells.get((lp, fault, metric)) for metric in metrics)
        shares = (_percent(row.share if row and row.n else None, 1) for row in each)
        grid.append([fault, lp, str(made), *shares])
    text = draw(grid, format)
    if format in ("table", "markdown", "latex"):
        text += "".join(f"\n\n{escape(line, format)}" for line in _left_out(found, metrics))
    return text + "\n"


def _left_out(found: Sequence[Robust], metrics: Sequence[str]) -> list[str]:
    """What the shares are of, in words."""
    lines = ["Share of faulty versions that score at least as high as the good one; 0 is best."]
    for metric in metrics:
        mine = [row for row in found if row.metric == metric and row.lp != ALL]
        unscored, at_worst = sum(r.unscored for r in mine), sum(r.at_worst for r in mine)
        if unscored or at_worst:
            lines.append(
                f"{metric}: of {sum(r.cases for r in mine)} cases {unscored} are left out because "
                f"a version has no score, {at_worst} because the good one has the worst."
            )
    return lines


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
