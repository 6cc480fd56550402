"""What metrics and runs count beside the scores, and the sentence that says it.

    metric.notes["truncated"] += 3
    sentence("truncated", 3)        "3 texts were longer than the model reads and were cut."

A metric that counts something of its own adds its name and its sentence here; one sentence for one,
one for many, each with {n} for the number. What is not in the table is said by its name.
"""

from __future__ import annotations

NOTES: dict[str, tuple[str, str]] = {
    "truncated": (
        "{n} text was longer than the model reads and was cut.",
        "{n} texts were longer than the model reads and were cut.",
    ),
    "cut": (
        "{n} segment has a text longer than the metric reads: it was cut there.",
        "{n} segments have a text longer than the metric reads: they were cut there.",
    ),
    "fewer_shifts": (
        "{n} segment has too many words in common to try every shift: only the first were tried.",
        "{n} segments have too many words in common to try every shift: only the first were tried.",
    ),
    "short": (
        "{n} system has no text as long as the longest n-grams, and so 0 even for a copy of the "
        "references. Use chrf, or effective_order=on.",
        "{n} systems have no text as long as the longest n-grams, and so 0 even for a copy of the "
        "references. Use chrf, or effective_order=on.",
    ),
    "oov": (
        "{n} word has no vector and was left out.",
        "{n} words have no vector and were left out.",
    ),
    "no_vector": (
        "{n} word has no vector; the option oov says what then.",
        "{n} words have no vector; the option oov says what then.",
    ),
    "language_assumed": (
        "{n} text was taken for English: the language is not given (-l).",
        "{n} texts were taken for English: the language is not given (-l).",
    ),
    "as_worst": (
        "{n} segment has a side without a known word and got the worst score.",
        "{n} segments have a side without a known word and got the worst score.",
    ),
    "by_spelling": (
        "{n} segment has a side without a known word and was compared by the words both share.",
        "{n} segments have a side without a known word and were compared by the words both share.",
    ),
    "no_entities": (
        "{n} segment has a source that names nothing that could be lost, and so no score.",
        "{n} segments have a source that names nothing that could be lost, and so no score.",
    ),
    "without a component": (
        "{n} segment has no score of one component: its blend is of the others.",
        "{n} segments have no score of one component: their blend is of the others.",
    ),
    "untokenised": (
        "{n} translation does not look tokenised; tokenize=13a splits punctuation off.",
        "{n} translations do not look tokenised; tokenize=13a splits punctuation off.",
    ),
    "untranslated": (
        "{n} translation is not, or not wholly, in the target language and lost score by that.",
        "{n} translations are not, or not wholly, in the target language and lost score by that.",
    ),
    "unrelated": (
        "{n} translation has hardly anything to do with its source and lost score by that.",
        "{n} translations have hardly anything to do with their sources and lost score by that.",
    ),
    "read alone": (
        "{n} translation was read without its source: this tells how fluent a text is, whatever it "
        "says.",
        "{n} translations were read without their sources: this tells how fluent a text is, "
        "whatever it says.",
    ),
    "empty": (
        "{n} translation is empty.",
        "{n} translations are empty.",
    ),
    "skipped": (
        "{n} segment was left out because a translation of it is empty.",
        "{n} segments were left out because a translation of each is empty.",
    ),
    "partly scored": (
        "{n} segment has a score for some systems only: it counts for none.",
        "{n} segments have scores for some systems only: they count for none.",
    ),
    "undefined resamples": (
        "{n} resample has no score for some system; the interval is of the others.",
        "{n} resamples have no score for some system; the intervals are of the others.",
    ),
}
_UNDEFINED = "undefined in "


def sentence(note: str, n: int) -> str:
    """A count in words.

    >>> sentence("truncated", 1), sentence("undefined in baseline", 2)
    ('1 text was longer than the model reads and was cut.', '2 segments of baseline have no score.')
    """
    if note.startswith(_UNDEFINED):
        many = "segment of {} has" if n == 1 else "segments of {} have"
        return f"{n:,} {many.format(note.removeprefix(_UNDEFINED))} no score."
    if note not in NOTES:
        return f"{note}: {n:,}."
    return NOTES[note][n != 1].format(n=f"{n:,}")
