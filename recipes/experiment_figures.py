"""Pages that are no table: the worked examples of paper 001, and the learning curve of paper 002.

Paper 001, Table I, Figures 1 and 2, Table VIII, on sentences of our own. The paper's sentences are
not ours to print; these have its shape: nine words a side, "holiday" last in the reference,
"vacation" in its place, once with the hypothesis in order and once reversed. For Table VIII three
hypotheses that people put in the order H1, H2, H3, while sentBLEU prefers H2.

Paper 002, Figure 1, from what `recipes/heads.py --curve` has left in WORK/heads.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import mtgauge
from mtgauge.engine.demo import example
from mtgauge.engine.ready import make_ready
from mtgauge.explanation import Explanation
from mtgauge.metric import Task
from mtgauge.report.writers import draw

REFERENCE = "the old man flew home early from his holiday"
HYPOTHESIS = "the old guy went home early from his vacation"
LAST = ("holiday", "vacation")
RANKED = {
    "H1": "the elderly man came home soon from his vacation",
    "H2": "the old man is flying his home early of holiday",
    "H3": "his home flies the early man old from holiday",
}
PRINTED_ESIM = {"TrainS": "0.632", "TrainL": "0.746"}  # with all segments, paper 002, Table 1
PRINTED_BLEU, PRINTED_STD = ("0.135", "0.156", "0.104"), ("0.883", "0.869", "0.855")


def std_figures() -> tuple[str, str]:
    """The page without its end, and the signature of the metric."""
    backwards = " ".join(reversed(HYPOTHESIS.split()))
    weighted = {name: _explained(f"std:preset=lp,weights={name}", HYPOTHESIS) for name in
                ("nbow", "tfidf", "nsim")}  # fmt: skip
    grid = [["word", *(f"{w} {side}" for w in weighted for side in ("ref", "hyp"))]]
    columns = [[row.split(" ") for row in one.facts["weights"]] for one in weighted.values()]
    for rows in zip(*columns, strict=True):
        grid.append([rows[0][0], *(value for row in rows for value in row[1:])])
    in_order, reverse = (_explained("std:preset=lp", text) for text in (HYPOTHESIS, backwards))
    near, far = (_distance(one) for one in (in_order, reverse))
    lines = [
        "# Li et al. 2019, STD, Tables I and VIII and Figures 1 and 2",
        "",
        "A sentence of nine words in the shape of the paper's, whose own are not ours to print.",
        "The two texts in a file each, the commands are",
        "",
        "```text",
        "mtgauge explain -t hyp.txt -r ref.txt -l de-en -m std:preset=lp,weights=nbow --segment 1",
        "mtgauge explain -t hyp.txt -r ref.txt -l de-en -m std:preset=lp --segment 1 --matrix",
        "mtgauge score -t H1.txt H2.txt H3.txt -r ref.txt -l de-en -m std:preset=lp sentbleu",
        "```",
        "",
        f"- reference: {REFERENCE}",
        f"- translation: {HYPOTHESIS}",
        "",
        "Table I, the weight that either text puts on a word. nBOW counts words, TF-IDF also asks",
        "how rare they are (here among the references of the package's own example), nSIM gives",
        "similar words of the other text their share.",
        "",
        draw(grid, "markdown"),
        "",
        "Figures 1 and 2, the ground distance of two words, 0.6 times that of meaning plus 0.4",
        "times that of place, for the pair of last words:",
        "",
        draw(
            [
                ["translation", "holiday to vacation", "printed"],
                ["in order (Figure 1)", f"{near:.4f}", "0.23"],
                ["reversed (Figure 2)", f"{far:.4f}", "0.58"],
                ["difference", f"{far - near:.4f}", "0.4 x (9/9 - 1/9) = 0.3556"],
            ],
            "markdown",
        ),
        "",
        f"STD of the translation in order {in_order.score:.3f}, reversed {reverse.score:.3f}.",
        "",
        *_ranked(),
        "",
    ]
    batch = _batch(HYPOTHESIS)
    ready = make_ready(mtgauge.load("std:preset=lp"), Task.of(batch), number=1)
    return "\n".join(lines), ready.signature.full


def _ranked() -> list[str]:
    """Table VIII: STD has the order that people have, sentBLEU has not."""
    grid = [["translation", "1 - STD", "printed", "sentBLEU", "printed"]]
    for (name, text), std, bleu in zip(RANKED.items(), PRINTED_STD, PRINTED_BLEU, strict=True):
        own = [1 - ranked_score("std:preset=lp", text), ranked_score("sentbleu", text)]
        grid.append([f"{name}: {text}", f"{own[0]:.3f}", std, f"{own[1]:.3f}", bleu])
    return [
        "Table VIII, three translations in the order that people give them; sentBLEU puts the",
        "second one first, in print and here. The printed numbers are of the paper's sentences;",
        "ours were picked from nine because they show the same: an illustration, no evidence.",
        "",
        draw(grid, "markdown"),
    ]


def ranked_score(spec: str, text: str) -> float:
    metric = mtgauge.load(spec)
    return float(metric.segment_score(metric.rows(_batch(text)))[0])


def _batch(text: str) -> mtgauge.Segments:
    return mtgauge.Segments([text], references=[(REFERENCE,)], lang="de-en")


def _explained(spec: str, text: str) -> Explanation:
    metric = mtgauge.load(spec)
    if metric.needs_corpus:
        (chunk,) = example("de-en").chunks(1000)
        metric.fit([REFERENCE, *(row[0] for row in chunk.references or ())])
    return metric.explain(_batch(text))


def _distance(one: Explanation) -> float:
    assert one.matrix is not None
    return float(one.matrix[one.left.index(LAST[0]), one.right.index(LAST[1])])


def learning_curve(work: Path) -> tuple[str, str]:
    """The page of paper 002's Figure 1 without its end, and the encoder's fingerprint."""
    folder = work / "heads"
    with (folder / "curve.tsv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    grid = [["training segments", "of", "epochs", "minutes", "mean r on WMT17"]]
    of = {"TrainS": "TrainS", "TrainL": "WMT18, for TrainL"}
    kept = ("epochs", "minutes", "pearson")
    grid += [
        [f"{int(row['segments']):,}", of[row["corpus"]], *(row[key] for key in kept)]
        for row in rows
    ]
    card = json.loads((folder / "curve" / rows[0]["segments"] / "card.json").read_text("utf-8"))
    lines = [
        "# Mathur et al. 2019, Putting Evaluation in Context, Figure 1",
        "",
        "How ESIM's correlation with people grows with the judgements that it learns from: mean",
        "Pearson of segments over the seven pairs to English of WMT17. The paper draws the curve",
        "on BERT's vectors; ours is on those of the package's encoder, by the paper's settings.",
        "TrainS is the paper's; more segments are WMT18's, a stand-in for TrainL, whose run was",
        "ended by `--minutes 25` and not by the stopping rule. Printed with all: TrainS (3,360)",
        f"{PRINTED_ESIM['TrainS']}, TrainL (125,000) {PRINTED_ESIM['TrainL']}.",
        "",
        "```text",
        f"python recipes/heads.py --data DIR --work WORK --curve --bf16 --minutes 25 --sizes "
        f"{' '.join(row['segments'] for row in rows)}",
        "```",
        "",
        draw(grid, "markdown"),
        "",
    ]
    return "\n".join(lines), str(card["encoder_fingerprint"])
