"""What is wrong with a translation in the eyes of a lexical metric: edits, and n-grams not found.

    word_edits(hypothesis, reference)                 insertions, deletions, substitutions
    ter_edits(hypothesis, reference)                  the same after shifts, as Tercom finds them
    ngram_faults(hypothesis, references, nearest, 4)  words and sequences of words not found
    character_faults(hypothesis, reference, 6)        words whose character n-grams are not found

Each returns findings, the costliest first. The costs of edits are exact: their sum is the number
that the metric counts. An n-gram that is not found is shown by the shortest part of it that is not
found; its cost is how many n-grams that part spoils, so one n-gram may count under two findings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mtgauge.explanation import Finding
from mtgauge.text.ngrams import ngrams
from mtgauge.text.words import UNSPACED, tokenizer

Words = list[str]
Grams = Callable[[tuple[str, ...]], float]
REPLACED, SURPLUS, MISSING, MOVED = "replaced", "surplus", "missing", "moved"
UNFOUND, REORDERED = "not in the reference", "not in this order"
AMONG_OTHERS = "among other words"
_TAGS = {"replace": REPLACED, "delete": SURPLUS, "insert": MISSING}
_TRACE = {"s": "replace", "d": "delete", "i": "insert", " ": "equal"}
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WIDE = UNSPACED + "\u3000-\u303f\uff00-\uffef"  # with their punctuation
_NO_SPACE = re.compile(f"(?<=[{_WIDE}]) (?=[{_WIDE}])")
_TELLING = 0.25  # of a word's n-grams: fewer are lost because of its neighbours


class Faults(NamedTuple):
    """What `WordMetric.faults` returns: findings, the unit of their costs, and remarks."""

    findings: Sequence[Finding]
    unit: str
    remarks: Sequence[str] = ()


def costliest(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -finding.cost)


# edits


def word_edits(
    hypothesis: Words, reference: Words, cost: Callable[[str, str], float] | None = None
) -> list[Finding]:
    """Edits of words; a run of one kind is one finding that costs its length, or `cost`."""
    return _edits(hypothesis, reference, _runs(_trace(hypothesis, reference)), cost)


def _trace(hypothesis: Words, reference: Words) -> str:
    """The fewest edits, and of those the ones that keep most words: `s`, `d`, `i` or a space."""
    best: list[list[tuple[int, int, str]]] = [
        [(j, 0, "i") for j in range(len(reference) + 1)]
    ]  # (edits, - words kept, the last step)
    for i, mine in enumerate(hypothesis, 1):
        row = [(i, 0, "d")]
        for j, theirs in enumerate(reference, 1):
            same = mine == theirs
            edits, kept, _ = best[i - 1][j - 1]
            steps = [(edits + (not same), kept - same, " " if same else "s")]
            steps += [(e + 1, k, op) for (e, k, _), op in ((best[i - 1][j], "d"), (row[-1], "i"))]
            row.append(min(steps, key=lambda step: step[:2]))
        best.append(row)
    i, j, trace = len(hypothesis), len(reference), ""
    while i or j:
        step = best[i][j][2]
        trace = step + trace
        i, j = i - (step != "i"), j - (step != "d")
    return trace


def _edits(
    hypothesis: Words,
    reference: Words,
    runs: Iterable[tuple[str, int, int, int, int]],
    cost: Callable[[str, str], float] | None = None,
) -> list[Finding]:
    found = []
    for tag, a, b, c, d in runs:
        if tag == "equal":
            continue
        text, other = said(hypothesis[a:b]), said(reference[c:d])
        paid = float(max(b - a, d - c)) if cost is None else cost(text, other)
        found.append(Finding(_TAGS[tag], text, other, paid))
    return costliest(found)


def ter_edits(hypothesis: Words, reference: Words) -> list[Finding]:
    """TER's shifts and edits; their costs sum to its number of edits."""
    from sacrebleu.metrics import lib_ter

    if not reference:
        return [Finding(SURPLUS, said(hypothesis), cost=len(hypothesis))] if hypothesis else []
    distance = lib_ter.BeamEditDistance(reference)
    words, tried, found = hypothesis, 0, []
    while True:  # as in lib_ter.translation_edit_rate, which does not say what it shifted
        gain, shifted, tried = lib_ter._shift(words, reference, distance, tried)
        if tried >= lib_ter._MAX_SHIFT_CANDIDATES or gain <= 0:
            break
        found.append(Finding(MOVED, moved_run(words, shifted), cost=1.0))
        words = shifted
    _, trace = distance(words)
    return costliest([*found, *_edits(words, reference, _runs(trace))])


def _runs(trace: str) -> Iterable[tuple[str, int, int, int, int]]:
    """Runs of equal operations of a trace from hypothesis to reference."""
    i = j = start = 0
    while start < len(trace):
        end = start
        while end < len(trace) and trace[end] == trace[start]:
            end += 1
        n, tag = end - start, _TRACE[trace[start]]
        a, b = (n if tag != "insert" else 0), (n if tag != "delete" else 0)
        yield tag, i, i + a, j, j + b
        i, j, start = i + a, j + b, end


def moved_run(before: Words, after: Words) -> str:
    """The words that one shift moved: of the two runs that changed places the shorter.

    >>> moved_run("a b c d e".split(), "a d b c e".split())
    'd'
    """
    places = [k for k, (x, y) in enumerate(zip(before, after, strict=True)) if x != y]
    start, end = places[0], places[-1] + 1
    inside, wanted = before[start:end], after[start:end]
    for k in range(1, len(inside)):
        if inside[k:] + inside[:k] == wanted:
            return said(inside[:k] if k <= len(inside) - k else inside[k:])
    return said(inside)


def bag_faults(hypothesis: Words, reference: Words) -> list[Finding]:
    """Words of one side that the other lacks, wherever they stand."""
    mine, theirs = Counter(hypothesis), Counter(reference)
    surplus = [Finding(SURPLUS, w, cost=float(n)) for w, n in (mine - theirs).items()]
    missing = [Finding(MISSING, "", w, float(n)) for w, n in (theirs - mine).items()]
    return costliest([*surplus, *missing])


# n-grams


def ngram_faults(
    hypothesis: Words,
    references: Sequence[Words],
    nearest: int,
    orders: int,
    weight: Grams = lambda gram: 1.0,
    *,
    recall: bool = False,
) -> list[Finding]:
    """What of the hypothesis is in no reference, and what of the nearest reference it lacks.

    With `recall` the metric counts n-grams of the reference that are missing, and they cost.
    """
    found = [
        Finding(UNFOUND if one else REORDERED, text, "", cost)
        for text, cost, one in _unfound(hypothesis, references, orders, weight)
    ]
    missing = [
        Finding(MISSING, "", text, cost if recall else 0.0)
        for text, cost, one in _unfound(references[nearest], [hypothesis], orders, weight)
        if one
    ]
    return costliest([*found, *missing])


def _unfound(
    words: Words, others: Sequence[Words], orders: int, weight: Grams
) -> Iterable[tuple[str, float, bool]]:
    """(words, what they spoil, whether the words themselves are not found)."""
    lost: dict[tuple[int, int], float] = {}  # (start, end) of n-grams that are not found
    for n in range(1, orders + 1):
        there: Counter[tuple[str, ...]] = Counter()
        for other in others:
            there |= Counter(ngrams(other, n))
        for start, gram in enumerate(ngrams(words, n)):
            if there[gram] > 0:
                there[gram] -= 1
            else:
                lost[start, start + n] = weight(gram)
    single = [start for start, end in lost if end - start == 1]
    runs: list[tuple[int, int]] = []
    for start in single:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], start + 1)
        else:
            runs.append((start, start + 1))
    shortest = [(a, b) for a, b in lost if b - a > 1 and not {(a, b - 1), (a + 1, b)} & lost.keys()]
    for a, b in runs:
        yield said(words[a:b]), sum(w for (s, e), w in lost.items() if s < b and a < e), True
    for a, b in shortest:
        yield said(words[a:b]), sum(w for (s, e), w in lost.items() if s <= a and b <= e), False


def found_remark(matches: Sequence[float], totals: Sequence[float]) -> str:
    """How many n-grams of each order were found, in words.

    >>> found_remark([3, 1], [4, 3])
    'Found in the reference: 3 of 4 words, 1 of 3 runs of 2.'
    """
    names = ["words", *(f"runs of {n}" for n in range(2, len(totals) + 1))]
    rows = zip(matches, totals, names, strict=True)
    parts = [f"{m:g} of {t:g} {name}" for m, t, name in rows if t]
    return f"Found in the reference: {', '.join(parts) or 'nothing'}."


def character_faults(
    hypothesis: str, reference: str, orders: int, *, spaces: bool = False
) -> list[Finding]:
    """Words of either side whose character n-grams the other lacks.

    A word that both have loses those n-grams that reach into its neighbours.
    """
    split = tokenizer("unicode")
    both = Counter(split(hypothesis)) & Counter(split(reference))
    found = [
        Finding(AMONG_OTHERS if is_known else UNFOUND, text, "", cost)
        for text, cost, is_known in _spoilt(hypothesis, reference, orders, spaces, both)
    ]
    missing = [
        Finding(MISSING, "", text, cost)
        for text, cost, is_known in _spoilt(reference, hypothesis, orders, spaces, both)
        if not is_known
    ]
    return costliest([*found, *missing])


def _spoilt(
    text: str, other: str, orders: int, spaces: bool, both: Counter[str]
) -> Iterable[tuple[str, float, bool]]:
    """(words, how many of their n-grams are not found, whether both texts have the words).

    An n-gram is shared out to its characters. Neighbours in a script without spaces are one run.
    """
    words = tokenizer("unicode")(text)
    chars, there = _joined(text, spaces), _joined(other, spaces)
    owner: list[int] = []
    for k, word in enumerate(words):
        gap = len(chars) > len(owner) and chars[len(owner)] == " "  # of the word before it
        owner += [k - 1] * gap + [k] * len(word)
    lost, every = [0.0] * len(words), [0.0] * len(words)
    for n in range(1, orders + 1):
        share = 1 / n
        free = Counter([there[i : i + n] for i in range(len(there) - n + 1)])
        for start in range(len(chars) - n + 1):
            gram = chars[start : start + n]
            left = free[gram]
            free[gram] = left - 1
            for k in owner[start : start + n]:
                every[k] += share
                if left <= 0:
                    lost[k] += share
    telling = [k for k in range(len(words)) if lost[k] > _TELLING * every[k]]
    runs: list[list[int]] = []
    for k in telling:
        last = runs[-1][-1] if runs else -2
        if last == k - 1 and _belong(words[last], words[k], both):
            runs[-1].append(k)
        else:
            runs.append([k])
    for run in runs:
        yield said([words[k] for k in run]), sum(lost[k] for k in run), words[run[0]] in both


def _belong(left: str, right: str, both: Counter[str]) -> bool:
    """Whether two neighbours are shown as one: characters of a script without spaces."""
    unspaced = _UNSPACED.match(left) and _UNSPACED.match(right)
    return bool(unspaced) and (left in both) == (right in both)


def _joined(text: str, spaces: bool) -> str:
    return (" " if spaces else "").join(text.split())


def said(words: Sequence[str]) -> str:
    """Words as one writes them: with spaces, but not within scripts that have none.

    >>> said(["关", "闭", "the", "bank"])
    '关闭 the bank'
    """
    return _NO_SPACE.sub("", " ".join(words))
