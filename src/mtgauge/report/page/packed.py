"""What the page's script reads: facts as JSON, segments and explanations as compressed JSON.

    facts(result, verdict)     escaped for a <script> element
    segments(result)           base64 of gzip of JSON; "" where there are no texts
    explanations(result)       the same

Segments: `texts[k]` is [source, [references], [system, ...]]; `scores[m][s][k]` is a score times
`scale` of the metric, rounded; `flags[s]` lists [k, kind, detail, side, places]; `columns[c][k]`.
Texts stand beside each other by segment, which compresses best: systems translate alike.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mtgauge.engine.flags import Flags
from mtgauge.engine.result import MetricResult, Result
from mtgauge.engine.slices import lengths
from mtgauge.engine.verdict import Verdict, most_trusted, served, shown_pair
from mtgauge.explanation import Explanation
from mtgauge.report.table import decimals
from mtgauge.report.writers import visible

_LEVELS = 15  # of a distance in a heat map: one hexadecimal digit each
_MOST_FINDINGS = 40
_SCRIPT_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def script_json(content: Any) -> str:
    """JSON that cannot end the <script> element it stands in.

    >>> script_json({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = _json(content)
    for char, code in _SCRIPT_ESCAPES.items():
        text = text.replace(char, code)
    return text


def facts(result: Result, verdict: Verdict) -> str:
    """What the script must know before any segment is shown."""
    usual = most_trusted(result, [m.spec for m in served(result)])
    first, other = shown_pair(result)
    side, _ = lengths(result.texts) if result.texts is not None else ("", [])
    return script_json(
        {
            "lang": result.lang,
            "segments": result.segments,
            "systems": [visible(name) for name in result.systems],
            "baseline": result.systems.index(result.baseline),
            "pair": [result.systems.index(first), result.systems.index(other)],
            "metrics": [_metric(m) for m in result.values()],
            "usual": 0 if usual is None else list(result).index(usual.spec),
            "person": list(verdict.needs_person),
            "side": side,
            "columns": [] if result.texts is None else [visible(c) for c in result.texts.columns],
            "explained": sorted({one.segment for one in result.explained}),
            "sides": _sides(result),
        }
    )


def _metric(metric: MetricResult) -> dict[str, Any]:
    return {
        "spec": visible(metric.spec),
        "higher": metric.higher_is_better,
        "decimals": decimals(metric),
        "scale": scale(metric),
        "served": metric.unserved is None,
    }


def scale(metric: MetricResult) -> int:
    """Scores of segments are kept in these parts: hundredths, or ten-thousandths."""
    return int(10 ** decimals(metric))


def _sides(result: Result) -> list[str]:
    texts = result.texts
    if texts is None:
        return []
    given = {"source": texts.sources, "reference": texts.references}
    return [side for side, column in given.items() if column is not None]


def segments(result: Result) -> str:
    """All texts, scores and warnings."""
    texts = result.texts
    if texts is None:
        return ""
    sources = texts.sources or [""] * result.segments
    references = texts.references or [()] * result.segments
    rows = zip(sources, references, zip(*texts.systems.values(), strict=True), strict=True)
    _, words = lengths(texts)
    return _pack(
        {
            "texts": [
                [visible(source), [visible(t) for t in refs], [visible(t) for t in mine]]
                for source, refs, mine in rows
            ],
            "words": words,
            "scores": [
                [_scaled(metric[name].segments, scale(metric)) for name in result.systems]
                for metric in result.values()
            ],
            "flags": [
                _flags(result.flags.get(name, ()), sources, texts.systems[name])
                for name in result.systems
            ],
            "columns": [[visible(v) for v in values] for values in texts.columns.values()],
        }
    )


def _flags(found: Sequence[Flags], sources: Sequence[str], mine: Sequence[str]) -> list[list[Any]]:
    """[segment, kind, detail, side, places]; no places in a text that is shown with escapes."""
    rows = []
    for k, flags in enumerate(found):
        for flag in flags:
            text = sources[k] if flag.side == "source" else mine[k]
            places = flag.places if visible(text) == text else ()
            rows.append([k, flag.kind, visible(flag.detail), flag.side, places])
    return rows


def _scaled(scores: np.ndarray, parts: int) -> list[int | None]:
    return [round(x * parts) if math.isfinite(x) else None for x in scores.tolist()]


def explanations(result: Result) -> str:
    """[segment, system, metric, explanation] of every one there is."""
    if not result.explained:
        return ""
    systems, specs = list(result.systems), list(result)
    return _pack(
        [
            [x.segment, systems.index(x.system), specs.index(x.spec), _explanation(x.explanation)]
            for x in result.explained
        ]
    )


def _explanation(found: Explanation) -> dict[str, Any]:
    """Without what the page does not draw; distances in sixteen steps from near to far."""
    made: dict[str, Any] = {
        "metric": visible(found.metric),
        "left": [visible(word) for word in found.left],
        "right": [visible(word) for word in found.right],
        "sides": [found.left_side, found.right_side],
        "links": [[x.i, x.j, _short(x.weight), _short(x.cost)] for x in found.links],
        "findings": [
            [f.what, visible(f.text), visible(f.other), _short(f.cost)]
            for f in found.findings[:_MOST_FINDINGS]
        ],
        "more": max(0, len(found.findings) - _MOST_FINDINGS),
        "unit": found.unit,
        "remarks": [visible(text) for text in found.remarks],
        "parts": [_explanation(part) for part in found.parts],
    }
    if found.matrix is not None and found.matrix.size:
        matrix = np.asarray(found.matrix)
        low, high = float(matrix.min()), float(matrix.max())
        steps = np.rint(_LEVELS * (matrix - low) / ((high - low) or 1.0)).astype(int)
        made["matrix"] = ["".join(f"{x:x}" for x in row) for row in steps.tolist()]
        made["range"] = [_short(low), _short(high)]
    return {key: value for key, value in made.items() if value not in ([], "", 0)}


def _short(value: float) -> float | None:
    return float(f"{value:.3g}") if math.isfinite(value) else None


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _pack(content: Any) -> str:
    data = gzip.compress(_json(content).encode("utf-8"), compresslevel=6, mtime=0)
    return base64.b64encode(data).decode("ascii")
