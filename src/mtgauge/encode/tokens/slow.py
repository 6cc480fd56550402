"""Tokenizers of transformers that have no tokenizer.json (XLM), as a `Packer` reads them.

    save(load_tokenizer("xlm-mlm-tlm-xnli15-1024"), folder)
    packer = slow_packer(folder, max_length=128)

XLM splits words with Moses (sacremoses), Chinese with rjieba, Thai with pythainlp and Japanese with
KyTea, so it must know a text's language. It is told by the script: that is all that the choice of
the splitter depends on, and one text has one reading whatever side it stands on. All other texts
are split by the English rules of Moses; those of other languages differ in abbreviations only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtgauge.encode.tokens.pairs import Packer, special_runs
from mtgauge.errors import ResourceError

FOLDER = "tokenizer"  # beside model.onnx
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "zh": re.compile("[\u3400-\u9fff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
}


def save(tokenizer: Any, folder: Path) -> None:
    """The tokenizer's files, for `slow_packer`."""
    tokenizer.save_pretrained(folder)


def digest(folder: Path) -> str:
    """Of the files that decide what numbers a text gets."""
    whole = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.name in ("vocab.json", "merges.txt", "vocab.txt", "spiece.model"):
            whole.update(file.name.encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def slow_packer(folder: Path, max_length: int) -> Packer:
    from mtgauge.encode.hub import load_tokenizer

    tokenizer = load_tokenizer(str(folder))
    seen: dict[str, list[int]] = {}

    def tokenize(texts: Sequence[str]) -> list[list[int]]:
        for text in texts:
            if text not in seen:
                seen[text] = tokenizer.convert_tokens_to_ids(_pieces(tokenizer, text))
        return [seen[text] for text in texts]

    word = int(tokenizer.unk_token_id)
    joined = tokenizer.build_inputs_with_special_tokens([word], [word])
    runs = special_runs(joined, [number != word for number in joined])
    if len(runs) != 3 or len(runs[0]) != 1 or len(runs[2]) != 1:
        raise ResourceError(
            f"The tokenizer in {folder} does not put one special token before a pair and one after "
            "it: mtgauge does not know how to join two texts for it."
        )
    pad = tokenizer.pad_token_id
    return Packer(
        tokenize, runs[0][0], tuple(runs[1]), runs[2][0], 0 if pad is None else pad, max_length
    )


def _pieces(tokenizer: Any, text: str) -> list[str]:
    if not hasattr(tokenizer, "lang_with_custom_tokenizer"):
        return list(tokenizer.tokenize(text))
    lang = next((code for code, script in _SCRIPTS.items() if script.search(text)), "en")
    known = tokenizer.lang2id
    try:
        # `tokenize` does not hand the language on
        return list(tokenizer._tokenize(text, lang=lang if not known or lang in known else "en"))
    except (ImportError, AttributeError) as error:
        raise ResourceError(
            f"XLM needs a package to split {lang} ({error}). For Chinese: pip install rjieba; for "
            "Thai: pip install pythainlp."
        ) from None
