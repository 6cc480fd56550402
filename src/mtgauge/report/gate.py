"""What a gate says: ten lines for the terminal, JUnit XML for CI, Markdown for people.

terminal(decision, result)      at most `LINES` lines: decision, reasons, worst segments
junit(decision, result)         one test case per check
markdown(decision, result)      the same with the table of scores
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from xml.etree import ElementTree

from mtgauge.engine.gate import Below, Check, Decision, Drop, Flagged, Worst
from mtgauge.engine.result import Result
from mtgauge.report.table import decimals, render
from mtgauge.report.writers import draw, escape, fixed, shorten, visible
from mtgauge.stats.paired import ALPHA

LINES = 10
_REASONS = 5  # lines, where there are segments to show too
_WIDTH = 100
_NO_XML = re.compile("[\ufffe\uffff]")  # beside what `visible` writes as escapes


def terminal(decision: Decision, result: Result) -> str:
    """The decision, its reasons and the worst segments."""
    closed = [check for check in decision.checks if check.closed]
    shown = closed or list(decision.checks)
    lines = [_heading(decision)]
    worst = list(_worst(decision))
    room = min(_REASONS, LINES - 2) if worst else LINES - 1
    reasons = [f"  {check.system}: {sentence(check, result)}" for check in shown]
    if len(reasons) > room:
        reasons = [*reasons[: room - 1], f"  and {len(reasons) - room + 1} more"]
    lines += reasons
    if worst:
        lines.append("worst segments:")
        for check, each in islice(worst, LINES - len(lines)):
            told = f"  {check.system} {each.row + 1}: {_why(check, each, result)}: "
            text = visible(decision.texts[check.system, each.row]) or "(nothing)"
            lines.append(visible(told) + shorten(text, max(_WIDTH - len(told), 20)))
    return "\n".join(visible(line) for line in lines) + "\n"


def _heading(decision: Decision) -> str:
    closed = sum(check.closed for check in decision.checks)
    every = len(decision.checks)
    if not closed:
        return f"gate open: {every} of {every} checks passed"
    return f"gate closed: {closed} of {every} checks failed"


def sentence(check: Check, result: Result) -> str:
    """What a check found, in words."""
    if isinstance(check, Flagged):
        verb = "segment has" if check.number == 1 else "segments have"
        share = "" if not check.limit.is_share else f" of {check.segments:,}"
        return f"{check.number:,}{share} {verb} the warning {check.what}; {check.limit} allowed"
    form = f".{decimals(result[check.what])}f"
    if isinstance(check, Below):
        side = "below" if check.higher_is_better else "above"
        kept = "at least" if check.higher_is_better else "at most"
        score = format(check.score, form)
        if check.closed:
            return f"{check.what} {score} is {side} {check.limit:g}"
        return f"{check.what} {score}; {kept} {check.limit:g} wanted"
    return _drop(check, form)


def _drop(check: Drop, form: str) -> str:
    before, now = format(check.before, form), format(check.score, form)
    moved = f"from {before} ({check.baseline}) to {now}"
    if check.loss <= 0:
        return f"{check.what} is no worse: {moved}"
    told = f"{check.what} is worse by {check.loss:{form}}, {moved}; {check.limit:g} allowed"
    if not check.too_large:
        return told
    if check.p is None:
        return f"{told}; not tested"
    chance = "may be chance, " if check.may_be_chance else ""
    return f"{told}; {chance}p {_p(check.p)}"


def _p(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"


def _why(check: Check, worst: Worst, result: Result) -> str:
    if isinstance(check, Flagged):
        return worst.why
    number = fixed(abs(worst.loss), f".{decimals(result[check.what])}f")
    if isinstance(check, Below):
        return f"{check.what} {number if worst.loss >= 0 else '-' + number}"
    return f"{check.what} {number} worse"


def _worst(decision: Decision) -> Iterator[tuple[Check, Worst]]:
    """The worst segments of the failed checks in turn, each segment once."""
    closed = [check for check in decision.checks if check.closed]
    seen = set()
    for rank in zip_longest(*(check.worst for check in closed)):
        for check, worst in zip(closed, rank, strict=True):
            if worst is not None and (check.system, worst.row) not in seen:
                seen.add((check.system, worst.row))
                yield check, worst


def rule(check: Check) -> str:
    """The limit as it is written on the command line."""
    if isinstance(check, Flagged):
        amount = str(check.limit).replace(" ", "")
        return f"{check.rule} {check.what}" + ("" if amount == "0" else f"={amount}")
    return f"{check.rule} {check.what}={check.limit:g}"


def junit(decision: Decision, result: Result) -> str:
    """JUnit XML: a test suite with one case per check."""
    root = ElementTree.Element("testsuites")
    facts = {
        "name": "mtgauge check",
        "tests": str(len(decision.checks)),
        "failures": str(sum(check.closed for check in decision.checks)),
        "errors": "0",
        "skipped": "0",
    }
    suite = ElementTree.SubElement(root, "testsuite", facts)
    for check in decision.checks:
        names = {"classname": _xml(f"mtgauge.{check.system}"), "name": _xml(rule(check))}
        case = ElementTree.SubElement(suite, "testcase", names)
        told = _xml(sentence(check, result))
        if check.closed:
            failure = ElementTree.SubElement(case, "failure", {"message": told, "type": check.rule})
            rows = (
                f"segment {w.row + 1}: {_why(check, w, result)}: "
                + decision.texts[check.system, w.row]
                for w in check.worst
            )
            failure.text = "\n".join(map(_xml, rows)) or None
        else:
            ElementTree.SubElement(case, "system-out").text = told
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _xml(text: str) -> str:
    """Text without the characters that XML has no way to write."""
    return _NO_XML.sub(lambda match: f"\\u{ord(match.group()):04x}", visible(text))


def markdown(decision: Decision, result: Result) -> str:
    """A summary for a pull request: decision, checks, worst segments, scores."""
    parts = [f"### mtgauge check: {_heading(decision)}"]
    grid = [["", "system", "limit", "found"]]
    for check in sorted(decision.checks, key=lambda check: not check.closed):
        mark = "failed" if check.closed else "passed"
        grid.append([mark, check.system, rule(check), sentence(check, result)])
    parts.append(draw(grid, "markdown", numbers=False))
    worst = [
        [c.system, str(w.row + 1), _why(c, w, result), decision.texts[c.system, w.row]]
        for c, w in islice(_worst(decision), LINES)
    ]
    if worst:
        head = ["system", "segment", "why", "translation"]
        parts += ["Worst segments:", draw([head, *worst], "markdown", numbers=False)]
    if result:
        parts.append(render(result, "markdown").rstrip())
    if any(isinstance(check, Drop) and check.needs_p for check in decision.checks):
        parts.append(
            escape(f"A drop counts if p < {ALPHA} too, where there is a test.", "markdown")
        )
    return "\n\n".join(parts) + "\n"
