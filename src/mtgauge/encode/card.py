"""card.json of a model folder: which keys it must have, of which type, by kind of model.

    card = read_card(Path("my-model/card.json"), "encoder")

Each fault is a `ResourceError` that names the file, the key and what is wanted. Keys that are not
listed here are for the reader (licence, data, scores) and may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtgauge.errors import ResourceError

Card = dict[str, Any]
EVIDENCE = (
    *("bias", "least", "gained", "lost", "lost_back"),
    *("numbers", "names", "marks", "ratio", "length"),
)
UNRELATED = (*EVIDENCE, "entities", "look", "from", "to", "most")  # see metrics/_unrelated.py
HEADS = ("bilstm", "bilstm-attention", "esim", "ruse")


@dataclass(frozen=True)
class Field:
    """What the value of a key must be; `holds` gets the value and the whole card."""

    wanted: str
    holds: Callable[[Any, Card], bool]
    required: bool = True


def whole(least: int, most: int = 2**20) -> Field:
    return Field(
        f"a whole number from {least} to {most:,}",
        lambda value, _: type(value) is int and least <= value <= most,
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # finite, and no NaN


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(map(of, value))


def _is_calibration(value: Any, _: Card) -> bool:
    """None, or four columns of numbers of one length, z rising."""
    if not value:
        return value is None or value == {}
    if not isinstance(value, dict):
        return False
    columns: list[Any] = [value.get(name) for name in ("z", "mean", "low", "high")]
    if not all(_is_list(column, _is_number) for column in columns):
        return False
    return len({len(column) for column in columns}) == 1 and columns[0] == sorted(columns[0])


def _is_layer(value: Any, card: Card) -> bool:
    return type(value) is int and -card["layers"] - 1 <= value <= card["layers"]


def _is_turned(value: Any, card: Card) -> bool:
    """How many of a vector's numbers; fewer than `dim`, which the card must then state."""
    dim = card.get("dim")
    return type(value) is int and (value == 0 or (type(dim) is int and 0 < value < dim))


def _is_unrelated(value: Any, _: Card) -> bool:
    """The constants of the guard against unrelated texts, all of them."""
    return (
        isinstance(value, dict)
        and all(_is_number(value.get(name)) for name in UNRELATED)
        and bool(value["from"] < value["to"] and 0 <= value["most"] <= 1)
    )


def _maps_texts(value: Any, to: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(_is_text(k) and to(v) for k, v in value.items())


TEXT = Field("one line of text", lambda value, _: _is_text(value))
TEXTS = Field("a list of texts", lambda value, _: _is_list(value, _is_text))
# tables that another model of the package holds: see shared.py
SHARES = {
    "shares": Field(
        'an object with "kind": "encoder", names (a list of texts) and sha256 (text)',
        lambda value, _: (
            isinstance(value, dict)
            and value.get("kind") == "encoder"
            and _is_list(value.get("names"), _is_text)
            and _is_text(value.get("sha256"))
        ),
        required=False,
    ),
}
_LENGTH = whole(3)  # begin, end, and a token between them
_TOKENISED = SHARES | {
    "name": TEXT,
    "max_length": _LENGTH,
    "languages": Field(
        "a list of language codes",
        lambda value, _: value == [] or _is_list(value, _is_text),
        required=False,
    ),
    "lowercase": Field("true or false", lambda value, _: type(value) is bool, required=False),
    "special_tokens": Field(
        "an object of tokens, as texts or numbers",
        lambda value, _: _maps_texts(value, lambda v: _is_text(v) or type(v) is int),
        required=False,
    ),
    "fingerprint": Field("text", lambda value, _: isinstance(value, str), required=False),
}
_TRAINED = SHARES | {
    "kind": TEXT,
    "fingerprint": TEXT,
    "encoder": TEXT,
    "calibration": Field(
        "an object with z, mean, low and high, lists of numbers of one length",
        _is_calibration,
        required=False,
    ),
}
_HEAD = _TRAINED | {
    "view": Field('"ref" or "src"', lambda value, _: value in ("ref", "src")),
    "encoder_fingerprint": TEXT,
    "layers": Field(
        "a list of layer numbers",
        lambda value, _: _is_list(value, lambda v: type(v) is int),
    ),
    "max_tokens": whole(1),
    "mix": Field(
        "a list of numbers, one per layer",
        lambda value, card: _is_list(value, _is_number) and len(value) == len(card["layers"]),
    ),
}
FIELDS: Mapping[str, Mapping[str, Field]] = {
    "encoder": _TOKENISED
    | {
        "layers": whole(0, 1000),
        "default_layer": Field(
            "an object with a layer for reference and source",
            lambda value, card: _maps_texts(value, lambda v: _is_layer(v, card)),
            required=False,
        ),
        "turned": Field("a whole number from 0, below dim", _is_turned, required=False),
        "unrelated": Field(
            f"an object of numbers: {', '.join(UNRELATED)}, from below to, most from 0 to 1",
            _is_unrelated,
            required=False,
        ),
    },
    "fluency": _TOKENISED,
    "ngrams": {
        "name": TEXT,
        "fingerprint": TEXT,
        "tokenizer_sha256": TEXT,
        "languages": Field(
            "an object with the SHA-256 of a file per language",
            lambda value, _: bool(value) and _maps_texts(value, _is_text),
        ),
    },
    "regressor": _TRAINED
    | {
        "views": TEXTS,
        "slots": TEXTS,
        "inputs": TEXTS,
        "width": whole(1),
        "max_length": _LENGTH,
        "tokenizer_sha256": TEXT,
        "answers": Field(
            "an object with a list of views per view",
            lambda value, _: _maps_texts(value, lambda v: _is_list(v, _is_text)),
            required=False,
        ),
        "language_numbers": Field(
            "an object with a number per language",
            lambda value, _: value is None or _maps_texts(value, lambda v: type(v) is int),
            required=False,
        ),
    },
    **dict.fromkeys(HEADS, _HEAD),
}


def read_card(path: Path, kind: str) -> Card:
    """The card of a model of this kind, checked."""
    card = read_object(path)
    stated = card.get("kind", kind)
    if stated != kind:
        found = stated if _is_text(stated) else "model of no kind that mtgauge knows"
        raise ResourceError(f"{path} describes a {found}, not a {kind}.")
    check_fields(card, FIELDS[kind], path)
    return card


def read_object(path: Path) -> Card:
    """A JSON file that holds one object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ResourceError(f"{path} is not JSON ({error}). Fetch the folder again.") from None
    except OSError as error:
        raise ResourceError(f"{path} cannot be read ({error.strerror}).") from None
    if not isinstance(value, dict):
        raise ResourceError(f"{path} is not a JSON object. Fetch the folder again.")
    return value


def check_fields(card: Card, fields: Mapping[str, Field], path: Path) -> None:
    missing = [key for key, field in fields.items() if field.required and key not in card]
    if missing:
        raise ResourceError(f"{path} lacks {', '.join(missing)}.")
    for key, field in fields.items():
        if key in card and not field.holds(card[key], card):
            raise ResourceError(f"{path}: {key} must be {field.wanted}, not {card[key]!r:.60}.")
