"""The sentence-pair regressor (Takahashi, Sudoh and Nakamura 2020), with or without a reference.

The translation is read together with the source, with the reference, or with both, by one encoder
that was fine-tuned on human judgements:

    x_src = E(<s> hyp </s> src </s>)      x_ref = E(<s> hyp </s> ref </s>)
    score = f([x_src; x_ref])             a view that is not given has a learned vector of its own

    mtgauge score -s src -t hyp -r ref -m regressor                   # source and reference
    mtgauge score -s src -t hyp -m regressor:view=hyp+src             # no reference needed
    mtgauge score -s src -t hyp -m regressor:scale=100                # 0 to 100

`view=auto` takes what is given: hyp+src/hyp+ref with both, else hyp+ref or hyp+src. The model in
the package serves all three: in training every view answered each batch. With both texts its score
is a mean of such answers (the card's `answers`), chosen on held-out judgements. A model trained for
hyp+src+ref reads all three texts as one input.

Limits: trained on WMT news; scores of other text are comparable between systems, their level less
so. Inputs are cut to the card's `max_length` pieces, which is counted.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.checks import unescape
from mtgauge.data.segments import Segments
from mtgauge.encode.batches import side_by_side, token_batches
from mtgauge.encode.model_folder import read_tokenizer
from mtgauge.encode.ragged import IntArray
from mtgauge.encode.tokens import slow
from mtgauge.encode.tokens.pairs import Packer
from mtgauge.errors import LanguageError, ResourceError, UsageError
from mtgauge.metric import FloatArray, Task, Untranslated
from mtgauge.metrics._references import MultiReference, compared_with, one_row_each, sources_of
from mtgauge.metrics._trained import ModelName, Scale, TrainedMetric
from mtgauge.models import shipped
from mtgauge.options import Unless
from mtgauge.registry import metric

View = Annotated[
    Literal["auto", "hyp+src/hyp+ref", "hyp+src+ref", "hyp+src", "hyp+ref"],
    "which texts are read together, with / between two readings; auto: what is given",
]
INPUTS: dict[str, tuple[str, ...]] = {
    "hyp+src/hyp+ref": ("src", "ref"),
    "hyp+src+ref": ("src+ref",),
    "hyp+src": ("src",),
    "hyp+ref": ("ref",),
}
VIEWS: tuple[View, ...] = ("hyp+src/hyp+ref", "hyp+src+ref", "hyp+ref", "hyp+src")
BUDGET = 512  # padded tokens per batch: activations of more do not stay in the caches
Vectors = NDArray[np.float32]


@metric("regressor")
class Regressor(TrainedMetric):
    summary = "Trained: an encoder fine-tuned to read translation, source and reference together."
    meaning = "predicted human z-score (0: average, +1: one deviation better); 0-100 with scale=100"
    paper = "Takahashi et al. 2020, Automatic MT Evaluation using Source Language Inputs"

    model: ModelName = "embedded"
    view: View = "auto"
    scale: Scale = "z"
    multi_ref: Annotated[MultiReference, Unless("view", "hyp+src")] = "best"
    untranslated: Annotated[Untranslated, Unless("view", "hyp+ref")] = "worst"

    @property
    def needs(self) -> frozenset[str]:
        """With `view=auto` nothing in particular, but one of the two."""
        wanted = {"source": "src", "reference": "ref"}
        return frozenset(name for name, short in wanted.items() if short in self.view)

    def reads_source(self, sides: frozenset[str]) -> bool:
        return "src" in self._view(sides)

    def reads_source_alone(self, sides: frozenset[str]) -> bool:
        return self._view(sides) == "hyp+src"

    def resolve(self, task: Task) -> Self:
        settled = super().resolve(task).settled(view=self._view(task.sides))
        for name in INPUTS[settled.view]:
            self._language_numbers(_languages(task, name))
        return settled

    def _view(self, sides: frozenset[str]) -> str:
        """The view in force: with `auto`, by what is given and what the model was trained for."""
        served = self.card["views"]
        if self.view != "auto":
            if self.view not in served:
                raise UsageError(
                    f"The regressor {self.model} was trained for {', '.join(served)}, "
                    f"not for view={self.view}."
                )
            return self.view
        order: dict[frozenset[str], tuple[str, ...]] = {
            frozenset({"source", "reference"}): VIEWS,
            frozenset({"reference"}): ("hyp+ref",),
            frozenset({"source"}): ("hyp+src",),
        }
        if sides not in order:
            raise UsageError("regressor needs a source (-s FILE), a reference (-r FILE) or both.")
        view = next((view for view in order[sides] if view in served), None)
        if view is None:
            raise UsageError(
                f"The regressor {self.model} was trained for {', '.join(served)}, and only "
                f"{' and '.join(sorted(sides))} is given."
            )
        return view

    @cached_property
    def packer(self) -> Packer:
        path = self.folder.folder / "tokenizer.json"
        if self.card["encoder"] == "embedded":
            path = shipped("encoder") / "tokenizer.json"
        is_slow = not path.is_file() and (self.folder.folder / slow.FOLDER).is_dir()
        if is_slow:
            path = self.folder.folder / slow.FOLDER
        elif not path.is_file():
            raise ResourceError(f"{path} is missing. Fetch the folder again.")
        found = slow.digest(path) if is_slow else hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.card["tokenizer_sha256"]:
            raise ResourceError(
                f"The regressor {self.model} was trained with another tokenizer than {path}: its "
                "numbers would mean other words. Fetch the model again, or train it again."
            )
        length = int(self.card["max_length"])
        return (
            slow.slow_packer(path, length) if is_slow else Packer.of(read_tokenizer(path), length)
        )

    def predict(self, batch: Segments) -> FloatArray:
        view = self._view(Task.of(batch).sides)
        vectors, owner = self._read(view, batch)
        scores = self._head(view, vectors)
        return one_row_each(scores[:, None], owner, self.multi_ref, scores)[:, 0]

    def answers(self, alone: Segments) -> list[tuple[str, float]]:
        """What the head answers from each view; of several references the best one."""
        view = self._view(Task.of(alone).sides)
        vectors, _ = self._read(view, alone)
        by_slot = dict(zip(INPUTS[view], vectors, strict=True))
        best = int(np.argmax(self._head(view, vectors)))
        return [(name, float(self._answer(name, by_slot)[best])) for name in self._views(view)]

    def _read(self, view: str, batch: Segments) -> tuple[list[Vectors], NDArray[np.int64]]:
        """Vectors of each input of a view, and the segment that each row belongs to."""
        texts = {}
        owner = np.arange(len(batch))
        if "ref" in view:
            references, owner = compared_with(self.name, batch, "reference")
            texts["ref"] = [unescape(text) for text in references]
        hypotheses = [unescape(batch.hypotheses[i]) for i in owner.tolist()]
        if "src" in view:
            sources = sources_of(self.name, batch)
            texts["src"] = [unescape(sources[i]) for i in owner.tolist()]
        vectors = [
            self._vectors(
                list(zip(hypotheses, *(texts[part] for part in name.split("+")), strict=True)),
                _languages(batch, name),
            )
            for name in INPUTS[view]
        ]
        return vectors, owner

    def _vectors(self, inputs: list[tuple[str, ...]], langs: tuple[str | None, ...]) -> Vectors:
        """(n, d): what the encoder makes of each input; distinct ones are read once."""
        unique = list(dict.fromkeys(inputs))
        number = {texts: i for i, texts in enumerate(unique)}
        flat = self.packer.tokenize([text for texts in unique for text in texts])
        width = len(langs)
        ids = [flat[i * width : (i + 1) * width] for i in range(len(unique))]
        lengths = np.array([min(self.packer.lengths(x), self.packer.max_length) for x in ids])
        numbers = self._language_numbers(langs)

        def run(batch: IntArray) -> tuple[Vectors, int]:
            packed = self.packer.pack_ids(
                [ids[i] for i in batch], None if numbers is None else [numbers] * len(batch)
            )
            named = {
                "input_ids": packed.ids,
                "attention_mask": packed.mask,
                "token_type_ids": packed.types,
                "langs": packed.langs,
            }
            taken = {name: named[name] for name in self.card["inputs"]}
            return self.folder.run("model.onnx", **taken), packed.cut

        out = np.empty((len(unique), int(self.card["width"])), dtype=np.float32)
        batches = token_batches(lengths, BUDGET)
        for batch, (found, cut) in side_by_side(run, batches, self.folder.parallel):
            out[batch] = found
            self.notes["truncated"] += cut
        return out[[number[texts] for texts in inputs]]

    def _language_numbers(self, langs: tuple[str | None, ...]) -> tuple[int, ...] | None:
        if "langs" not in self.card["inputs"]:
            return None
        known = self.card["language_numbers"]
        if None in langs:
            raise UsageError(f"The regressor {self.model} wants the language pair: give -l de-en.")
        missing = [str(lang) for lang in langs if lang not in known]
        if missing:
            raise LanguageError(
                f"The regressor {self.model} does not know the language {', '.join(missing)}. "
                f"It knows: {', '.join(known)}."
            )
        return tuple(known[lang] for lang in langs)

    def _head(self, view: str, vectors: list[Vectors]) -> FloatArray:
        """The mean of the head's answers that the card lists for a view.

        A model that serves several views can also answer with a given view hidden; whether the mean
        of such answers is better was chosen on the validation data. The encoder runs once anyway.
        """
        by_slot = dict(zip(INPUTS[view], vectors, strict=True))
        answers = [self._answer(name, by_slot) for name in self._views(view)]
        return np.asarray(np.mean(answers, axis=0))

    def _views(self, view: str) -> list[str]:
        """The views whose answers are averaged for a view."""
        return list(self.card.get("answers", {}).get(view, [view]))

    def _answer(self, view: str, by_slot: dict[str, Vectors]) -> FloatArray:
        """Scores from the vectors of one view's slots; a slot that is not given is marked so."""
        slots = self.card["slots"]
        n, width = next(iter(by_slot.values())).shape
        states = np.zeros((n, len(slots), width), dtype=np.float32)
        given = np.zeros((n, len(slots)), dtype=np.float32)
        for name in INPUTS[view]:
            states[:, slots.index(name)] = by_slot[name]
            given[:, slots.index(name)] = 1
        scores = self.folder.run("head.onnx", states=states, given=given)
        return np.asarray(scores, dtype=np.float64)


def _languages(batch: Segments | Task, name: str) -> tuple[str | None, ...]:
    """Language of the translation and of what it is read with."""
    by_part = {"src": batch.source_lang, "ref": batch.target_lang}
    return (batch.target_lang, *(by_part[part] for part in name.split("+")))
