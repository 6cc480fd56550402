"""How the units of two texts meet: exact transport, or the best match of each unit.

    greedy    P = sum_j w_j max_i cos(x_i, y_j), R = sum_i w_i max_j cos(x_i, y_j), F = 2PR/(P+R)
    travel    min_F sum_ij C_ij F_ij with the texts' unit weights as marginals

x are the left text's units (source or reference), y the right one's (translation); `precision` asks
whether the translation is covered by the left text, `recall` the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from mtgauge.data.segments import Segments
from mtgauge.encode.ragged import IntArray, take
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.encode.tokens.joining import Word, join
from mtgauge.encode.tokens.units import DeviceUnits, Units
from mtgauge.errors import UsageError
from mtgauge.explanation import Explanation, Finding, Link
from mtgauge.metric import FloatArray
from mtgauge.options import Range

if TYPE_CHECKING:
    from mtgauge.metrics._contextual import ContextualMetric

Matching = Annotated[
    Literal["transport", "precision", "recall", "f"],
    "how words meet: transport of all, or the best match of each word of the translation "
    "(precision), of the source (recall) or of both (f)",
]
Ngram = Annotated[int, "compare runs of so many word pieces", Range(1, 10)]
Pieces = Annotated[
    Literal["all", "first", "mean"], "of a word's pieces: all, the first, or one mean vector"
]
Punctuation = Annotated[bool, "compare punctuation marks too"]
Distance = Annotated[Literal["euclidean", "squared"], "distance of two vectors, plain or squared"]
Form = Annotated[Literal["one_minus", "inverse"], "from cost to score: 1 - cost or 1 / (1 + cost)"]
_NOISE = 1e-6  # what float32 makes of no distance at all
GREEDY = {"precision": 0, "recall": 1, "f": 2}
KINDS: dict[str, Literal["euclidean", "sqeuclidean"]] = {
    "euclidean": "euclidean",
    "squared": "sqeuclidean",
}


def greedy(left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
    """(p, 3): precision, recall and F of p pairs (text lefts[i], text rights[i])."""
    scores = np.zeros((len(lefts), 3))
    if isinstance(left, DeviceUnits) and isinstance(right, DeviceUnits):
        scores[:, :2] = _means_there(left, lefts, right, rights)
    else:
        scores[:, :2] = _means(left, lefts, right, rights)
    np.clip(scores, -1.0, 1.0, out=scores)  # cosines of float32 unit vectors may pass 1 by 1e-7
    both = (scores[:, :2] > 0).all(axis=1)  # F means nothing where a side is negative
    scores[both, 2] = 2 * scores[both, 0] * scores[both, 1] / scores[both, :2].sum(axis=1)
    return scores


def _means(left: Units, lefts: IntArray, right: Units, rights: IntArray) -> FloatArray:
    """(p, 2): mean best match of the right texts' units, and of the left ones'."""
    from mtgauge.compare.greedy import best_matches, segment_means

    x_rows, x_offsets = take(left.offsets, lefts)
    y_rows, y_offsets = take(right.offsets, rights)
    x_best, y_best = best_matches(
        left.vectors, left.offsets, right.vectors, right.offsets, (lefts, rights)
    )
    precision = segment_means(y_best, y_offsets, right.weights[y_rows])
    recall = segment_means(x_best, x_offsets, left.weights[x_rows])
    return np.stack([precision, recall], axis=1)


def _means_there(
    left: DeviceUnits, lefts: IntArray, right: DeviceUnits, rights: IntArray
) -> FloatArray:
    """The same where the units are."""
    from mtgauge.compare.device import Side, best_means

    x, y = (
        Side(units.block, units.offsets[texts], np.diff(units.offsets)[texts], units.weights)
        for units, texts in ((left, lefts), (right, rights))
    )
    return best_means(x, y)


def score_form(cost: FloatArray, form: str) -> FloatArray:
    """From a cost to a score, higher better.

    >>> score_form(np.array([1.0]), "inverse")
    array([0.5])
    """
    return 1.0 - cost if form == "one_minus" else 1.0 / (1.0 + cost)


def similarity_bounds(matching: str, distance: str, form: str) -> tuple[float, float]:
    """Lowest and highest score of a pair: distances of unit vectors reach 2, squared ones 4."""
    if matching != "transport":
        return (-1.0, 1.0)
    farthest = np.array([4.0 if distance == "squared" else 2.0])
    return (float(score_form(farthest, form)[0]), 1.0)


def travel(
    left: Units,
    lefts: IntArray,
    right: Units,
    rights: IntArray,
    distance: str,
    dropout: float = 0.0,
) -> FloatArray:
    """Least cost of moving each left text's units onto its right text's, for p pairs."""
    from mtgauge.compare.transport import cost_matrices, transport

    costs = cost_matrices(
        left.vectors, left.offsets, right.vectors, right.offsets, KINDS[distance], (lefts, rights)
    )
    weights = None
    if not (left.uniform and right.uniform):
        x_rows, x_offsets = take(left.offsets, lefts)
        y_rows, y_offsets = take(right.offsets, rights)
        x_parts = np.split(left.weights[x_rows], x_offsets[1:-1])
        y_parts = np.split(right.weights[y_rows], y_offsets[1:-1])
        weights = list(zip(x_parts, y_parts, strict=True))
    if dropout == 0:
        return transport(costs, weights).cost
    flows = transport(costs, weights, flow=True).flow or []
    dropped = [drop_smallest(flow, dropout) for flow in flows]
    return np.array([(f * c).sum() for f, c in zip(dropped, costs, strict=True)])


def drop_smallest(flow: FloatArray, share: float) -> FloatArray:
    """The flow without what is strictly below its k-th smallest part, k = share of all parts.

    XMoverScore's code of 2021 and 2022 does this; mass is not renormalised.
    """
    parts = np.sort(flow[flow > 0])
    if not len(parts):
        return flow
    threshold = parts[max(int(share * len(parts)), 1) - 1]
    return np.where(flow < threshold, 0.0, flow)


def explain_pair(
    metric: ContextualMetric,
    segment: Segments,
    matching: Matching,
    distance: str = "euclidean",
    dropout: float = 0.0,
    facts: dict[str, Any] | None = None,
    remarks: Sequence[str] = (),
) -> Explanation:
    """What travelled where, and what it cost; or who matched whom best. In words, not pieces."""
    alone = segment.take([0])
    texts = metric.best_pair(alone)
    languages = alone.source_lang if metric.side == "source" else alone.target_lang
    x_tokens = metric.encode_left([texts[0]], languages)
    y_tokens = metric.encode([texts[1]], alone.target_lang)
    left = metric.units(x_tokens, metric.side, alone.lang)
    right = metric.units(y_tokens, "hypothesis", alone.lang)
    if not (len(left.vectors) and len(right.vectors)):
        raise UsageError(f"{metric.name}: a side of this segment has nothing to compare.")
    if matching == "transport":
        from mtgauge.compare.transport import cost_matrices, transport

        ends = np.array([0, len(left.vectors)]), np.array([0, len(right.vectors)])
        costs = cost_matrices(left.vectors, ends[0], right.vectors, ends[1], KINDS[distance])
        even = left.uniform and right.uniform
        weights = None if even else [(left.weights, right.weights)]
        (flow,) = transport(costs, weights, flow=True).flow or []
        matrix, flow = costs[0], drop_smallest(flow, dropout) if dropout else flow
    else:
        matrix = np.maximum(1.0 - (left.vectors @ right.vectors.T).astype(np.float64), 0.0)
        flow = greedy_flow(matrix, left.weights, right.weights, matching)
    names = metric.model.vocabulary
    x_words, x_number = words_of(x_tokens, left, texts[0], names)
    y_words, y_number = words_of(y_tokens, right, texts[1], names)
    matrix, links = by_words(matrix, flow, x_number, y_number)
    return Explanation(
        metric.name,
        float(metric.segment_score(metric.statistics(alone))[0]),
        tuple(word.text for word in x_words),
        tuple(word.text for word in y_words),
        left_side=metric.side,
        links=links,
        matrix=matrix,
        facts={
            "matching": matching,
            "cost": sum(link.weight * link.cost for link in links),
            **(facts or {}),
        },
        findings=link_findings(x_words, y_words, links, by_left=matching == "recall"),
        unit="cost",
        remarks=(_HOW[matching].format(side=metric.side), *remarks),
        left_pieces=tuple(word.pieces for word in x_words),
        right_pieces=tuple(word.pieces for word in y_words),
    )


_HOW = {
    "precision": "Every word of the translation is compared with the word of the {side} that is "
    "nearest in meaning; a cost is the word's share of the text times its distance.",
    "recall": "Every word of the {side} is compared with the word of the translation that is "
    "nearest in meaning; a cost is the word's share of the text times its distance.",
    "f": "Every word is compared with the word of the other text that is nearest in meaning; a "
    "cost is the word's share of the text times its distance.",
    "transport": "The words of the {side} are moved onto those of the translation at the least "
    "cost; a cost is the share that was moved times the distance in meaning.",
}


def words_of(
    tokens: TokenVectors, units: Units, text: str, names: Sequence[str]
) -> tuple[list[Word], IntArray]:
    """The words (of n-grams: runs of words) that one text's units are shown as; one per unit."""
    pieces = [names[i] for i in tokens.ids]
    words, number = join(text, tokens.spans, tokens.first | tokens.special, pieces)
    runs = [(int(number[a]), int(number[b])) for a, b in units.ends]
    shown = {run: k for k, run in enumerate(dict.fromkeys(runs))}
    return [_run(words[a : b + 1], text) for a, b in shown], np.array([shown[r] for r in runs])


def _run(words: list[Word], text: str) -> Word:
    if len(words) == 1:
        return words[0]
    places = [word.at for word in words if word.at is not None]
    at = (places[0][0], places[-1][1]) if len(places) == len(words) else None
    said = text[at[0] : at[1]] if at is not None else " ".join(word.text for word in words)
    return Word(said, tuple(piece for word in words for piece in word.pieces), at)


def by_words(
    matrix: FloatArray, flow: FloatArray, lefts: IntArray, rights: IntArray
) -> tuple[FloatArray, tuple[Link, ...]]:
    """Mean distances of words and the links between them, from those of their units.

    A link has the weight of its pieces' links and their mean cost: what it cost stays the same.
    """
    shape = (int(lefts.max()) + 1, int(rights.max()) + 1)
    cells = (lefts[:, None], rights[None, :])
    distance, pairs, weight, cost = (np.zeros(shape) for _ in range(4))
    for total, part in (
        (distance, matrix),
        (pairs, np.ones_like(matrix)),
        (weight, flow),
        (cost, flow * matrix),
    ):
        np.add.at(total, cells, part)
    links = tuple(
        Link(int(i), int(j), float(weight[i, j]), float(cost[i, j] / weight[i, j]))
        for i, j in np.argwhere(weight)
    )
    return distance / pairs, links


def link_findings(
    left: Sequence[Word], right: Sequence[Word], links: Sequence[Link], *, by_left: bool = False
) -> tuple[Finding, ...]:
    """One finding per word of the translation (`by_left`: of the left text), the dearest first.

    Its partner is the one with the most weight.
    """
    mine: dict[int, list[Link]] = {}
    for link in links:
        mine.setdefault(link.i if by_left else link.j, []).append(link)
    found = []
    for group in mine.values():
        main = max(group, key=lambda link: link.weight)
        x, y = left[main.i], right[main.j]
        cost = sum(link.weight * link.cost for link in group)
        if cost > _NOISE:
            found.append(Finding("", y.text, x.text, cost, y.at, x.at))
    return tuple(sorted(found, key=lambda finding: -finding.cost))


def greedy_flow(
    matrix: FloatArray, x_weights: FloatArray, y_weights: FloatArray, matching: Matching
) -> FloatArray:
    """Weights of the links that `precision`, `recall` or `f` (both) count."""
    flow = np.zeros(matrix.shape)
    if not matrix.size:
        return flow
    share = 0.5 if matching == "f" else 1.0
    if matching in ("precision", "f"):
        flow[matrix.argmin(axis=0), np.arange(matrix.shape[1])] += share * y_weights
    if matching in ("recall", "f"):
        flow[np.arange(matrix.shape[0]), matrix.argmin(axis=1)] += share * x_weights
    return flow
