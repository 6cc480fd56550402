"""How far to trust a result, in sentences: what is known of each metric, and of each difference."""

from __future__ import annotations

from mtgauge.engine.result import MetricResult, Result
from mtgauge.engine.trust import ENOUGH


def trust_lines(result: Result) -> list[str]:
    """One line per metric, and one per system that was compared with the baseline."""
    if result.lang is None:
        return ["say the language pair (-l) to see how far each metric agrees with people there"]
    lines = []
    for metric in result.values():
        if metric.unserved is not None:
            continue
        if metric.trust is None:
            lines.append(f"{metric.spec}: nothing is known of these settings for {result.lang}")
            continue
        lines.append(f"{metric.spec}: {metric.trust.sentence(result.lang)}")
        lines += _differences(metric, result)
        if len(metric) > 1 and metric.has_no_say:
            lines.append(
                f"{metric.spec}: whether people prefer the system that it prefers is not known: "
                "their choices went either way"
            )
    if result.segments < ENOUGH and any(m.knows_people and len(m) > 1 for m in result.values()):
        lines.append(f"whether people see such differences is said of {ENOUGH} segments or more")
    return lines


def _about(share: float) -> str:
    """Nothing is sure."""
    return "more than 99%" if share > 0.99 else f"about {share:.0%}"


def _differences(metric: MetricResult, result: Result) -> list[str]:
    lines = []
    for name in metric:
        if name == result.baseline:
            continue
        difference = metric[name].score - metric[result.baseline].score
        begin = f"{metric.spec}: {name} is {difference:+.3g} against {result.baseline}"
        if metric.is_beyond(name, result.baseline):
            lines.append(
                f"{begin}; that is larger than any difference seen among WMT's systems, so how "
                "often people prefer the same one is not known"
            )
        elif (found := metric.agreement(name, result.baseline)) is not None:
            share, low, high = found
            interval = "" if low > 0.99 else f" ({low:.0%} to {high:.0%})"
            lines.append(
                f"{begin}; people prefer the same system in {_about(share)} of such pairs{interval}"
            )
    return lines
