"""A tiny random BERT and GPT-2, saved for both roads: a transformers folder and an ONNX folder.

The weights are random but seeded, so the two roads must agree on every number. They know single
letters and a few words; the sentences of the tests are made of those.
"""

from __future__ import annotations

import atexit
import functools
import json
import string
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from mtgauge.encode.model_folder import fingerprint

WORDS = (
    "the cat dog house sat on a mat is big red die katze der hund das haus saß auf matte ist groß "
    "rot und and in cats dogs ##s ##en ##ing"
).split()
LETTERS = [*string.ascii_letters, *"äöüß", *string.digits]
BERT_VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *WORDS,
    *LETTERS,
    *("##" + letter for letter in LETTERS),
    *string.punctuation,
]
LAYERS, WIDTH, LONGEST = 3, 32, 48


def bert_tokenizer() -> Tokenizer:
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(BERT_VOCABULARY))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def lm_tokenizer() -> Tokenizer:
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(["<s>", *BERT_VOCABULARY]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A",
        pair="<s> $A [SEP] $B:1",
        special_tokens=[("<s>", 0), ("[SEP]", vocabulary["[SEP]"])],
    )
    return tokenizer


def bert_model(vocabulary: int) -> Any:
    from transformers import BertConfig, BertModel

    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=LONGEST,
        initializer_range=0.3,  # wide enough that layers differ visibly
        attn_implementation="eager",
    )
    return BertModel(config).eval()


def gpt_model(vocabulary: int) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(8)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=WIDTH,
        n_layer=2,
        n_head=4,
        n_positions=LONGEST,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
    )
    return GPT2LMHeadModel(config).eval()


# Models are exported layer by layer: the exporter cannot follow how transformers makes its masks.


def _state(output: Any) -> Any:
    """What a layer returns: a tensor in transformers 5, a tuple in 4."""
    return output[0] if isinstance(output, tuple) else output


class _Layers(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        bias = (1.0 - attention_mask[:, None, None, :].float()) * -1e9
        states = [self.model.embeddings(input_ids)]
        for layer in self.model.encoder.layer:
            states.append(_state(layer(states[-1], bias)))
        return tuple(states)


class _Logprobs(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any) -> Any:
        length, body = input_ids.shape[1], self.model.transformer
        causal = torch.full((length, length), -1e9).triu(1)[None, None]
        state = body.wte(input_ids) + body.wpe(torch.arange(length))
        for block in body.h:
            state = _state(block(state, attention_mask=causal))
        logits = self.model.lm_head(body.ln_f(state))[:, :-1]
        chosen = logits.gather(2, input_ids[:, 1:, None])[..., 0]
        return chosen - logits.logsumexp(2)


def _export(module: Any, inputs: dict[str, Any], outputs: list[str], path: Path) -> None:
    axes = {name: {0: "batch", 1: "length"} for name in [*inputs, *outputs]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old exporter is deprecated, and enough for this
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )


def _save_hub(model: Any, tokenizer: Tokenizer, folder: Path, **special: str) -> None:
    from transformers import PreTrainedTokenizerFast

    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)


def write_card(folder: Path, **card: Any) -> None:
    card = {"fingerprint": fingerprint(folder, card["kind"]), **card}
    (folder / "card.json").write_text(json.dumps(card), encoding="utf-8")


def make_encoder(root: Path) -> tuple[Path, Path]:
    """(ONNX folder, transformers folder) of one and the same encoder."""
    onnx, hub = root / "encoder-onnx", root / "encoder-hub"
    onnx.mkdir(parents=True)
    tokenizer = bert_tokenizer()
    model = bert_model(tokenizer.get_vocab_size())
    special = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]"}
    _save_hub(model, tokenizer, hub, **{f"{k}_token": v for k, v in special.items()})
    ids = torch.randint(4, 40, (2, 9))
    _export(
        _Layers(model),
        {"input_ids": ids, "attention_mask": torch.ones_like(ids)},
        [f"layer_{i}" for i in range(LAYERS + 1)],
        onnx / "model.onnx",
    )
    tokenizer.save(str(onnx / "tokenizer.json"))
    write_card(
        onnx,
        name="tiny",
        kind="encoder",
        layers=LAYERS,
        dim=WIDTH,
        max_length=LONGEST,
        default_layer={"reference": LAYERS, "source": 2},
        special_tokens=special,
        languages=["de", "en"],
        lowercase=False,
    )
    return onnx, hub


def make_language_model(root: Path) -> tuple[Path, Path]:
    """(ONNX folder, transformers folder) of one and the same language model."""
    onnx, hub = root / "lm-onnx", root / "lm-hub"
    onnx.mkdir(parents=True)
    tokenizer = lm_tokenizer()
    model = gpt_model(tokenizer.get_vocab_size())
    _save_hub(model, tokenizer, hub, bos_token="<s>", unk_token="[UNK]")
    _export(
        _Logprobs(model),
        {"input_ids": torch.randint(4, 40, (2, 9))},
        ["logprobs"],
        onnx / "model.onnx",
    )
    tokenizer.save(str(onnx / "tokenizer.json"))
    write_card(
        onnx,
        name="tiny-lm",
        kind="fluency",
        max_length=LONGEST,
        special_tokens={"bos": "<s>", "sep": "[SEP]"},
        languages=["en"],
        lowercase=False,
    )
    return onnx, hub


@functools.cache
def tiny_root() -> Path:
    """One folder per test process; the models are made once and removed at exit."""
    folder = tempfile.TemporaryDirectory(prefix="mtgauge-tiny-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@functools.cache
def encoder_folders() -> tuple[Path, Path]:
    return make_encoder(tiny_root())


@functools.cache
def language_model_folders() -> tuple[Path, Path]:
    return make_language_model(tiny_root())


SPECIAL = {
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
}


def family(tmp_path: Path, name: str) -> Path:
    """A tiny random model of a family, with the tests' WordPiece tokenizer."""
    import transformers as hf

    size = bert_tokenizer().get_vocab_size()
    torch.manual_seed(3)
    common: dict[str, Any] = {"vocab_size": size, "pad_token_id": 0}
    long: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 20,
        "max_position_embeddings": 40,
    }
    models = {
        "xlm-roberta": lambda: hf.XLMRobertaModel(hf.XLMRobertaConfig(**common, **long)),
        "mpnet": lambda: hf.MPNetModel(hf.MPNetConfig(**common, **long)),
        "distilbert": lambda: hf.DistilBertModel(
            hf.DistilBertConfig(
                **common, dim=16, n_layers=3, n_heads=2, hidden_dim=20, max_position_embeddings=40
            )
        ),
        "xlm": lambda: hf.XLMModel(
            hf.XLMConfig(
                **common,
                emb_dim=16,
                n_layers=3,
                n_heads=2,
                max_position_embeddings=40,
                n_langs=2,
                use_lang_emb=True,
                lang2id={"en": 0, "de": 1},
                id2lang={0: "en", 1: "de"},
            )
        ),
    }
    folder = tmp_path / name
    models[name]().save_pretrained(folder)
    hf.PreTrainedTokenizerFast(tokenizer_object=bert_tokenizer(), **SPECIAL).save_pretrained(folder)
    return folder
