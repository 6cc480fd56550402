"""Which pages docs/experiments has: every table and figure of the five papers.

`PAGES` are the tables that `mtgauge meta --experiment` prints, with the data of the command;
`ELSEWHERE` lists tables and figures that another command makes, each with that command.
"""

from __future__ import annotations

from dataclasses import dataclass

FROM_REGISTRY = ("glove-6b-50d", "spacy-en-md")  # made by registry_vectors.py
PAPERS = {
    "000": "Zhao et al. 2020, XMoverScore",
    "001": "Li et al. 2019, STD",
    "002": "Mathur et al. 2019, Putting Evaluation in Context",
    "003": "Gekhman et al. 2020, KoBE",
    "004": "Takahashi et al. 2020, source and reference together",
}
TO_ENGLISH_18 = "cs-en de-en et-en fi-en ru-en tr-en zh-en".split()


@dataclass(frozen=True)
class Page:
    about: str
    data: tuple[str, ...] = ()  # files below DIR, and options; none: the data is not to be had


@dataclass(frozen=True)
class Elsewhere:
    what: str
    command: str


_DA15 = ("da15.tsv.gz", "-l", "cs-en", "de-en", "fi-en", "ru-en")
_DA16 = ("da16.tsv.gz", "-l", "fi-en", "ru-en", "ro-en", "de-en")
_DA17 = ("da17.tsv.gz",)
# models score a part of the large sets: some 170,000 texts of WMT17 by 20 metrics take a day
_SAMPLE = ("--limit", "150")
_SYS17 = ("wmt17", "--human", "sys17.tsv", *_SAMPLE)
_SYS18 = ("wmt18", "--human", "sys18.tsv", "-l", *TO_ENGLISH_18, *_SAMPLE)
_SYS19 = ("--scores", "sys19-metrics.csv")
_SMALL = ("-l", "de-en", "ru-en", "tr-en", "zh-en")
_BLEU17 = (
    "The WMT17 texts at hand are lower-cased and tokenised, so BLEU runs without a tokeniser; "
    "the shared task scored the texts as they were written, which explains the difference left."
)
_HEADS = (
    "The heads were trained on a processor (`python recipes/heads.py`, all but BiLSTM on TrainS "
    "with `--bf16`): for TrainS by the paper's settings, but only BiLSTM was trained until the "
    "paper's rule stopped it, while BiLSTM+attention and ESIM still gained when they were ended; "
    "for TrainL a part of its stand-in was seen once (`--train TrainL --limit 10080 --epochs 1`): "
    "what a few minutes give, not 125,000 judgements."
)
_SHIPPED = (
    "mtgauge's defaults are the shipped regressor, which was taught by 262,199 judged segments and "
    "a larger model, whatever the table's corpus."
)
_CHRF17 = (
    "The chrF of the shared task must have seen texts in their own case and without HTML "
    "escapes; ours sees what is distributed. `mtgauge meta da17.tsv.gz -m chrf --unescape --paper` "
    "brings it from .568 to .574 on average (.577 in print); the case cannot be had back."
)

PAGES = {
    "000.1": Page("Segment-level Pearson on WMT17 to English.", _DA17),
    "000.4": Page(
        "Remappings composed, with multilingual USE, on WMT17 segments. The printed BLEU row is "
        "not what it says: it equals the system-level values of WMT19 for de-en, gu-en and kk-en. "
        "USE knows neither Czech, Finnish nor Latvian, which is what the table shows.",
        (*_DA17, "-l", "cs-en", "fi-en", "lv-en"),
    ),
    "000.5": Page("System-level Pearson, WMT17. " + _BLEU17, _SYS17),
    "000.6": Page(
        "Kendall-like tau on WMT18 better/worse pairs, rebuilt from raw direct assessment; the "
        "counts are those of the shared task. On raw text sentBLEU needs a tokeniser.",
        ("da18-large.tsv.gz", "-l", *TO_ENGLISH_18, *_SAMPLE),
    ),
    "000.7": Page(
        "System-level Pearson, WMT18. The shared task's BLEU has international tokens and is "
        "blind to case; with those settings ours is the printed one. BLEU of tr-en is printed as "
        ".657 but negative in the data: the table hides signs.",
        _SYS18,
    ),
    "000.8": Page(
        "System-level Pearson, WMT19 to English, from the official table of scores. The print "
        "hides signs of its competitors: YiSi-2's average is .578 without signs, .227 with them.",
        _SYS19,
    ),
    "001.IV": Page(
        "Segment-level |r|, WMT15. The paper does not tell the settings of its WordF; those that "
        "give the printed numbers to the third digit are chrF++'s word half: one and two words, "
        "the mean of their F. They were found by a search against the printed numbers: that these "
        "agree says what the authors did, not how good the metric is.",
        _DA15,
    ),
    "001.V": Page(
        "Segment-level |r|, WMT16. WordF has other settings here than on WMT15: one to four words "
        "of Moses' tokeniser (the package sacremoses), the mean of their F. They, too, were found "
        "by a search against the printed numbers.",
        _DA16,
    ),
    "001.VI": Page("System-level |r|, WMT15."),
    "001.VII": Page("System-level |r|, WMT16."),
    "001.X": Page(
        "Word vectors compared, segment level, WMT16. The paper's files are on neither PyPI nor "
        "npm; GloVe 6B and the vectors of spaCy's en_core_web_md are, and stand below its rows.",
        (*_DA16, "-m", *(f"std:preset=paper,vectors=vectors/{name}" for name in FROM_REGISTRY)),
    ),
    "001.XI": Page("Word vectors compared, system level, WMT16."),
    "002.1": Page(f"Segment-level Pearson, WMT17 to English. {_HEADS} {_CHRF17}", _DA17),
    "002.2": Page("Segment level, WMT17 from English (the printed caption says system level)."),
    "002.3": Page(
        "System-level Pearson, WMT17 to English. ESIM's stand-in is that of [Table 1](002.1.md), "
        "trained on a small part of what stands in for TrainL. " + _BLEU17,
        _SYS17,
    ),
    "002.4": Page("System-level Pearson, WMT17 from English."),
    "002.5": Page("System-level Pearson, IT domain of WMT16, from English."),
    "003.1": Page(
        "System-level signed Pearson, WMT19 to English, from the official table of scores.",
        _SYS19,
    ),
    "003.2": Page("WMT19 from English, signed, as Table 1.", _SYS19),
    "003.3": Page("WMT19 without English, signed, as Table 1.", _SYS19),
    "003.4": Page(
        "KoBE against the reference, beside BLEU, WMT19 to English, signed. The table's body is "
        "lost in the text that these pages are made from; what is left says that KoBE is better "
        "than BLEU in 5 of 7 pairs. So no cell is compared.",
        _SYS19,
    ),
    "004.2": Page(
        "Segment-level Pearson, WMT17, trained on the four pairs of XLM15. Of the paper's four "
        "views over ten seeds, one view has been run with one seed on the package's encoder, which "
        "stands in for multi-BERT: on one core a seed of this corpus (2,411 segments, 10 epochs) "
        "takes some 23 minutes for hyp+ref and for hyp+src, 25 for hyp+src+ref and 37 for "
        "hyp+src/hyp+ref, measured by `mtgauge train regressor --limit 128 --epochs 1` less the "
        "same with `--limit 32`; three seeds of all four here and on half of it (Table 4) take 8 "
        "hours, ten seeds 27. With `--bf16`, where the processor has it, hyp+ref takes 10 "
        "minutes. `python recipes/regressors.py --data DIR --work WORK` trains them, and the page "
        "takes them up. One seed on the whole corpus stands in [trained "
        f"metrics](../trained.md#the-papers-own-protocols). {_SHIPPED}",
        (*_DA17, *_SMALL),
    ),
    "004.3": Page(
        f"Segment-level Pearson, WMT17, trained on all pairs to English. {_SHIPPED}", _DA17
    ),
    "004.4": Page(
        "As [Table 2](004.2.md), trained on half of the data: what the runs on the package's "
        f"encoder take stands there. {_SHIPPED}",
        (*_DA17, *_SMALL),
    ),
    "004.5": Page(
        "Pearson by quality band, four pairs pooled: good translations (human z-score of 0 or "
        f"more), bad ones, and the share of the correlation lost between them. {_SHIPPED}",
        (*_DA17, *_SMALL, "-m", "sentbleu", "chrf"),
    ),
}

ELSEWHERE = {
    "000": {
        "Figure 1, segments": Elsewhere(
            "mean correlation of the best metric and of BLEU on WMT17",
            "mtgauge meta da17.tsv.gz --experiment 000.1 --plot figures",
        ),
        "Figure 1, systems": Elsewhere(
            "the same of systems",
            "mtgauge meta wmt17 --human sys17.tsv --limit 150 --experiment 000.5 --plot figures",
        ),
        "Figure 2": Elsewhere(
            "mean correlation with people on WMT19, the official scores",
            "mtgauge meta --scores sys19-metrics.csv --experiment 000.8 --plot figures",
        ),
        "Figure 3": Elsewhere(
            "how the d-statistic of word-by-word translations is spread",
            "mtgauge probe w2w da17.tsv.gz -l de-en --dictionary de-en.txt.gz "
            "-m xmoverscore:preset=paper2020 --plot figures",
        ),
        "Figure 4": Elsewhere(
            "how much parallel text a remap needs",
            "mtgauge remap curve -s news.de -t news.en -l de-en --judged da17.tsv.gz "
            "--out curve --plot figures",
        ),
    },
    "001": {
        "Table I": Elsewhere(
            "weights of words: nBOW, TF-IDF and nSIM: [001.figures](001.figures.md)",
            "mtgauge explain -t hyp.txt -r ref.txt -l de-en "
            "-m std:preset=lp,weights=nbow --segment 1",
        ),
        "Figures 1 and 2": Elsewhere(
            "ground distances of a sentence in order and reversed: [001.figures](001.figures.md)",
            "mtgauge explain -t hyp.txt -r ref.txt -l de-en -m std:preset=lp --segment 1 --matrix",
        ),
        "Table VIII": Elsewhere(
            "three translations in the order that people give them: [001.figures](001.figures.md)",
            "mtgauge score -t H1.txt H2.txt H3.txt -r ref.txt -l de-en -m std:preset=lp sentbleu",
        ),
    },
    "002": {
        "Figure 1": Elsewhere(
            "correlation by number of training segments: [002.figures](002.figures.md)",
            "python recipes/heads.py --data DIR --work WORK --curve",
        ),
        "Tables 6 and 7": Elsewhere(
            "examples on which metrics and people disagree (texts of WMT are not ours to print)",
            "mtgauge meta da17.tsv.gz -l de-en -m esim sentbleu --disagree 5",
        ),
    },
    "003": {
        "Tables 5 to 7, Figures 1 to 4": Elsewhere(
            "entities of a sentence pair joined by lines, counts and categories of entities, on "
            "texts of your own with mtgauge's entities; the paper's counts need its annotations "
            "and the texts of WMT19 (`-m kobe:annotations=FOLDER`)",
            "mtgauge kb count -s src.de -t a.txt b.txt -r ref.txt -l de-en --plot figures "
            "--segment 3",
        ),
    },
    "004": {
        "Figures 1 and 2": Elsewhere(
            "drawings, without numbers, of how source and reference enter the model: the option "
            "`view` in the list that this prints",
            "mtgauge metrics regressor",
        ),
        "Table 1": Elsewhere("how many judged segments", "mtgauge meta da15.tsv.gz -m wer"),
        "Figure 3": Elsewhere(
            "scores against people, four pairs pooled",
            "mtgauge meta da17.tsv.gz -l de-en ru-en tr-en zh-en --experiment 004.5 --plot figures",
        ),
    },
}
