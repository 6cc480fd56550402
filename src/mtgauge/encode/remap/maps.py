"""Remapping: move source vectors towards the target language before they are compared.

CLP, cross-lingual projection by orthogonal Procrustes, from word pairs (x_i, z_i) as rows of X, Z:

    W = argmin ||X W - Z||, W orthogonal     =  U V^T  with  U S V^T = svd(X^T Z)       e <- e W

UMD, universal mismatch direction, the language direction v = top right singular vector of X - Z:

    e <- e - (e . v) v            form "dot", what the authors' code does
    e <- e - cos(e, v) v          form "cosine", what the paper prints

`linear` is CLP without the constraint, W = argmin ||X W - Z|| by least squares, and `rcsls` the W
that makes partners nearest neighbours by CSLS (rcsls.py); both are applied as CLP is.
`clp_umd` is CLP after UMD, `umd_clp` UMD after CLP (read right to left); the second step is fitted
on what the first has moved. `judged` is a W learned from people's scores of translations
(recipes/judged_remap.py) and applied as CLP is. CLP moves source vectors only; UMD is applied to
the source (side "source", the code) or to both languages (side "both", the paper).

    remap = fit(X, Z, "clp", RemapFacts(...))
    remap.save("de-en.remap");  remap = load("de-en.remap")

A file is safetensors with metadata: encoder, layer, languages, method, unit, pairs used, checksum;
scoring with another encoder, layer or direction is refused. One language may be `mul`, "many": a
remap for en-mul serves every pair from English. The authors' .BAM (CLP) and .GBDD
(UMD, one vector or a matrix whose first row is the vector) are read too, as NumPy arrays or as text
(.BAM.map, .GBDD.map); what their names say (languages, layer) is checked, the encoder cannot be.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.codes import LanguagePair, bases
from mtgauge.encode.remap.rcsls import rcsls
from mtgauge.encode.tokens.device import DeviceTokens
from mtgauge.encode.tokens.encoder import TokenVectors, Vectors
from mtgauge.errors import InputError, LanguageError, ResourceError, UsageError

Unit = Literal["word", "sentence"]
METHODS = ("clp", "linear", "rcsls", "umd", "clp_umd", "umd_clp")
_STEPS = {
    "clp": "c",
    "linear": "c",
    "rcsls": "c",
    "umd": "u",
    "clp_umd": "uc",
    "umd_clp": "cu",
    "judged": "c",  # made by a recipe, not fitted here
}
MANY = "mul"  # ISO 639: many languages
ROWS = 8192  # are moved at a time, as doubles
BITS = 53  # of a double's significand
_RELEASED = re.compile(
    r"(?:^|\.)(?P<lang>[a-z]{2,3}-[a-z]{2,3})\..*?(?P<layer>\d+)\.(BAM|GBDD)(\.map)?$"
)


@dataclass(frozen=True)
class RemapFacts:
    """What a remap was fitted on; empty fields are unknown and not checked."""

    method: str
    lang: str = ""
    encoder: str = ""
    fingerprint: str = ""
    layer: int = -1
    unit: str = "word"
    pairs: int = 0
    sentences: int = 0
    aligned: str = ""  # encoder, fast_align (and how symmetrised) or lexicon


@dataclass(frozen=True)
class Remap:
    facts: RemapFacts
    projection: NDArray[np.float32] | None = None  # (d, d), applied as e @ W
    direction: NDArray[np.float32] | None = None  # (d,), length 1

    @property
    def dim(self) -> int:
        array = self.projection if self.projection is not None else self.direction
        return 0 if array is None else len(array)

    def move(self, vectors: Vectors, side: str, both: bool, form: str = "dot") -> Vectors:
        """Vectors of one side ("source", or any other name for the target side), moved."""
        if vectors.shape[1] != self.dim:
            raise ResourceError(
                f"The remap is for vectors of {self.dim} numbers, the encoder gives "
                f"{vectors.shape[1]}: it was fitted for another encoder."
            )
        source = side == "source"
        for step in _STEPS[self.facts.method]:
            if step == "c" and source and self.projection is not None:
                vectors = _moved(vectors, self.projection)
            elif step == "u" and (source or both) and self.direction is not None:
                vectors = remove_direction(vectors, self.direction, form)
        return vectors

    def apply(self, tokens: TokenVectors, side: str, sides: str, form: str) -> TokenVectors:
        """Token vectors of one side of a pair, moved; `sides` is "source" or "both"."""
        w = self.projection
        if isinstance(tokens, DeviceTokens) and w is not None and self.direction is None:
            return tokens.multiplied(w) if side == "source" else tokens
        return tokens.moved(self.move(tokens.vectors, side, sides == "both", form))

    def check(self, fingerprint: str, layer: int, lang: str | None, unit: Unit = "word") -> None:
        """Refuse a remap that was fitted for something else."""
        facts = self.facts
        wrong = []
        if facts.fingerprint and facts.fingerprint != fingerprint:
            wrong.append(f"encoder {facts.encoder or facts.fingerprint} (another one is in use)")
        if facts.layer >= 0 and facts.layer != layer:
            wrong.append(f"layer {facts.layer} (layer {layer} is in use)")
        if facts.lang and lang and not _serves(facts.lang, lang):
            wrong.append(f"{facts.lang} (the texts are {lang})")
        if facts.unit != unit:
            wrong.append(f"{facts.unit} vectors (this metric compares {unit} vectors)")
        if wrong:
            raise ResourceError(
                f"This remap was fitted for {'; '.join(wrong)}. Fit one with `mtgauge remap fit`."
            )

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        named = {"projection": self.projection, "direction": self.direction}
        return {k: v for k, v in named.items() if v is not None}

    def save(self, path: str | Path) -> None:
        from safetensors.numpy import save_file

        arrays = {k: np.ascontiguousarray(v, dtype=np.float32) for k, v in self.arrays().items()}
        note = json.dumps(asdict(self.facts) | {"checksum": _checksum(arrays)})
        save_file(arrays, str(path), metadata={"mtgauge_remap": note})


def _serves(fitted: str, lang: str) -> bool:
    """Whether a remap of one pair is for another; from a language to itself only its own is."""
    wanted = bases(lang)
    if bases(fitted) == wanted:
        return True
    sides = zip(bases(fitted), wanted, strict=True)
    return wanted[0] != wanted[1] and all(a in (MANY, b) for a, b in sides)


def _moved(vectors: Vectors, projection: NDArray[np.float32]) -> Vectors:
    """vectors @ projection, each row the same to the last bit whatever rows stand beside it.

    A matrix product adds in an order that depends on a row's place, and each sum is rounded. So
    rows become whole numbers below 2^23 times a power of 2, the projection such numbers of as many
    bits as are left: for d = 384 (9 bits) 21. Their sums fit into a double: nothing is rounded.
    """
    moved, step = _whole(projection, BITS - 23 - len(projection).bit_length(), axis=None)
    out = np.empty_like(vectors)
    for start in range(0, len(vectors), ROWS):
        part, steps = _whole(vectors[start : start + ROWS], 23, axis=1)
        out[start : start + ROWS] = part @ moved * (steps * step)
    return out


def _whole(
    values: NDArray[Any], bits: int, axis: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole numbers below 2^bits, and the power of 2, per row or in all, that they count."""
    largest = np.abs(values).max(axis=axis, keepdims=True, initial=0.0)
    step = np.ldexp(1.0, np.frexp(largest.astype(np.float64))[1] - bits)
    return np.rint(values / step), step


def remove_direction(vectors: Vectors, v: NDArray[np.float32], form: str) -> Vectors:
    """e - (e . v) v, or e - cos(e, v) v."""
    along = vectors @ v
    if form == "cosine":
        along = along / np.maximum(np.linalg.norm(vectors, axis=1), 1e-30)
    return np.asarray(vectors - along[:, None] * v, dtype=vectors.dtype)


def procrustes(x: NDArray[Any], z: NDArray[Any]) -> NDArray[np.float64]:
    """The orthogonal W that minimises ||x W - z||."""
    u, _, vt = np.linalg.svd(np.asarray(x, np.float64).T @ np.asarray(z, np.float64))
    return np.asarray(u @ vt)


def least_squares(x: NDArray[Any], z: NDArray[Any]) -> NDArray[np.float64]:
    """The W that minimises ||x W - z||, whatever it is."""
    return np.asarray(np.linalg.lstsq(np.asarray(x, np.float64), np.asarray(z, np.float64))[0])


def language_direction(x: NDArray[Any], z: NDArray[Any]) -> NDArray[np.float64]:
    """Top right singular vector of x - z; its sign does not matter."""
    q = np.asarray(x, np.float64) - np.asarray(z, np.float64)
    # Eigenvectors of the (d, d) product: q has one row per word pair, its SVD would be far larger.
    _, vectors = np.linalg.eigh(q.T @ q)
    return np.asarray(vectors[:, -1])


def fit(x: NDArray[Any], z: NDArray[Any], facts: RemapFacts) -> Remap:
    """The remap of `facts.method` from source vectors x and target vectors z, row by row."""
    if facts.method not in METHODS:
        raise UsageError(f"There is no method {facts.method!r}: {', '.join(METHODS)}.")
    if x.shape != z.shape or len(x) < 2:
        raise InputError(
            f"{len(x)} source and {len(z)} target vectors are no pairs to fit on",
            remedy="Give more parallel text.",
        )
    facts = replace(facts, pairs=len(x))
    x, z = np.asarray(x, np.float32), np.asarray(z, np.float32)
    solvers = {"clp": procrustes, "linear": least_squares, "rcsls": rcsls}
    if facts.method in solvers:
        return Remap(facts, solvers[facts.method](x, z).astype(np.float32))
    if facts.method == "umd":
        return Remap(facts, None, language_direction(x, z).astype(np.float32))
    if facts.method == "clp_umd":
        v = language_direction(x, z).astype(np.float32)
        moved = remove_direction(x, v, "dot"), remove_direction(z, v, "dot")
        return Remap(facts, procrustes(*moved).astype(np.float32), v)
    w = procrustes(x, z).astype(np.float32)
    return Remap(facts, w, language_direction(x @ w, z).astype(np.float32))


def load(path: str | Path) -> Remap:
    """A remap file of ours, or a released .BAM or .GBDD."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise ResourceError(f"There is no remap file {path}. `mtgauge remap fit` makes one.")
    return _load_released(path) if _kind(path) else _load_own(path)


def find_remap(spec: str, lang: str | None) -> Remap:
    """The remap of a language pair.

    `spec` is a file; a folder that holds LANG.remap for every pair (de-en.remap) or for many
    (de-mul.remap), or the authors' NAME.LANG.NAME.BAM; or a pattern, such as
    `mapping/layer-8/*.GBDD` for their UMD.
    """
    path = Path(spec).expanduser()
    pattern = path.name if "*" in path.name else ""
    folder = path.parent if pattern else path
    if not folder.is_dir():
        return load(path)
    if not lang:
        raise UsageError(f"{spec} is a folder of remaps: give the language pair, e.g. -l de-en.")
    source, target = LanguagePair.parse(lang).bases
    general = (f"{source}-{MANY}", f"{MANY}-{target}") if source != target else ()
    for pair in dict.fromkeys((lang, f"{source}-{target}", *general)):
        released = [p for p in sorted(folder.glob(pattern or "*.BAM*")) if _kind(p)]
        mine = [p for p in released if f".{pair}." in f".{p.name}"]
        for candidate in ([] if pattern else [folder / f"{pair}.remap"]) + mine:
            if candidate.is_file():
                return load(candidate)
    have = sorted(p.stem for p in folder.glob(pattern or "*.remap"))
    raise LanguageError(
        f"{spec} has no remap for {lang} (it has {', '.join(have) or 'none'}). Fit one with "
        f"`mtgauge remap fit`, or score without: remap=none."
    )


def own_remap(folder: Path | None, lang: str | None, layer: int) -> Remap | None:
    """The remap that an encoder brings for a language pair and layer, if it does."""
    if folder is None or not folder.is_dir() or not lang:
        return None
    try:
        remap = find_remap(str(folder), lang)
    except (LanguageError, UsageError):  # metrics may be used with names of languages of their own
        return None
    return remap if remap.facts.layer == layer else None


def _load_own(path: Path) -> Remap:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ResourceError(f"{path} is not a remap file ({error}).") from None
    if "mtgauge_remap" not in metadata:
        raise ResourceError(f"{path} is safetensors but no remap of mtgauge.")
    try:
        note = json.loads(metadata["mtgauge_remap"])
        checksum = note.pop("checksum")
        facts = RemapFacts(**note)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ResourceError(f"{path}: its note is not that of a remap. Fit it again.") from None
    if checksum != _checksum(arrays) or facts.method not in _STEPS:
        raise ResourceError(f"{path} is damaged: its checksum is wrong. Fit it again.")
    return Remap(facts, arrays.get("projection"), arrays.get("direction"))


def _kind(path: Path) -> str:
    """`.BAM` or `.GBDD` of a file of the authors, as text (.map) or as an array; "" of another."""
    suffix = Path(path.stem).suffix if path.suffix == ".map" else path.suffix
    return suffix if suffix in (".BAM", ".GBDD") else ""


def _load_released(path: Path) -> Remap:
    text = path.suffix == ".map"
    try:
        array: NDArray[Any] = np.loadtxt(path) if text else np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        what = "a matrix as text" if text else "a NumPy array"
        raise ResourceError(f"{path} is not {what} ({error}).") from None
    named = _RELEASED.search(path.name)
    lang, layer = (named["lang"], int(named["layer"])) if named else ("", -1)
    array = array.astype(np.float32)
    if _kind(path) == ".GBDD":
        vector = array[0] if array.ndim == 2 else array
        if vector.ndim != 1:
            raise ResourceError(f"{path} has {array.ndim} dimensions; a .GBDD has one or two.")
        unit = np.asarray(vector / np.linalg.norm(vector), np.float32)
        return Remap(RemapFacts("umd", lang, layer=layer), None, unit)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ResourceError(f"{path} has shape {array.shape}; a .BAM is a square matrix.")
    return Remap(RemapFacts("clp", lang, layer=layer), array)


def _checksum(arrays: dict[str, NDArray[np.float32]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    return digest.hexdigest()[:16]
