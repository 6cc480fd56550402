"""Fit the remaps that the paper's method needs: CLP, UMD and both orders, on 2,000 pairs each.

    python recipes/remaps.py --data DIR --work WORK de-en cs-en ...

They go to WORK/remaps/word/METHOD/LP.remap (the last layer's words, for XMoverScore),
remaps/sentence/ (sentence vectors, for COSINE) and, for Table 4, remaps/use/ (multilingual USE).
A file that fits the encoder of today is kept. Parallel text is parallel/XX-en.tsv.zst, in or
beside DIR: its first pairs from Europarl and news, else from whatever it has.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path

from mtgauge import load
from mtgauge.encode.remap.fitting import RemapPlan, fit_remaps
from mtgauge.encode.remap.maps import load as load_remap
from mtgauge.errors import MtgaugeError

METHODS = ("clp", "umd", "clp_umd", "umd_clp")
PAIRS = 2000
FIRST = ("europarl", "newstest2008-14")
PLANS = {
    "word": {"encoder": "embedded", "layer": -1, "unit": "word"},
    "sentence": {"encoder": "embedded", "unit": "sentence"},
    "use": {"encoder": "use", "unit": "sentence"},
}
_METRICS = {
    "word": "xmoverscore:preset=paper2020,lm=off,remap={}",
    "sentence": "cosine:preset=paper2020,lm=off,remap={}",
    "use": "cosine:preset=paper2020,lm=off,encoder=use,remap={}",
}
_OPTIONS = {
    "word": "--layer -1",
    "sentence": "--unit sentence",
    "use": "--unit sentence --encoder use",
}


def kinds(page: str) -> list[str]:
    """The remaps that a page needs: Table 4 takes USE, other tables our encoder."""
    return ["use"] if page == "000.4" else ["word", "sentence"]


def commands(page: str) -> list[str]:
    """How the remaps of a page are made, for its reader."""
    return [
        "Remaps were fitted before, for every pair `XX-en` and on 2,000 sentence pairs, by",
        "",
        "```text",
        *(
            f"mtgauge remap fit -s text.XX -t text.en -l XX-en {_OPTIONS[kind]} "
            f"--method {' '.join(METHODS)} --out remaps/{kind}"
            for kind in kinds(page)
        ),
        "```",
    ]


def make(data: Path, work: Path, pairs: Sequence[str], page: str = "") -> None:
    """What a page needs and is missing for these language pairs."""
    for lp in (lp for lp in pairs if lp.endswith("-en")):
        for kind in kinds(page):
            folder = work / "remaps" / kind
            if not all(_serves(folder / m / f"{lp}.remap", kind, lp) for m in METHODS):
                _fit(data, folder, kind, lp)


def _serves(path: Path, kind: str, lp: str) -> bool:
    """Whether a remap is there and was fitted for the encoder that is in use now."""
    if not path.is_file():
        return False
    try:
        metric = load(_METRICS[kind].format(path))
        metric.check_remap(load_remap(path), lp)  # type: ignore[attr-defined]
    except MtgaugeError:
        return False
    return True


def _fit(data: Path, folder: Path, kind: str, lp: str) -> None:
    sources, targets = parallel(data, lp)
    plan = RemapPlan(lp, **PLANS[kind])  # type: ignore[arg-type]
    for method, fitted in zip(METHODS, fit_remaps(plan, sources, targets, METHODS), strict=True):
        path = folder / method / f"{lp}.remap"
        path.parent.mkdir(parents=True, exist_ok=True)
        fitted.remap.save(path)
    print(f"{folder}: {lp}, {len(sources)} pairs", flush=True)


def parallel(data: Path, lp: str, pairs: int = PAIRS) -> tuple[list[str], list[str]]:
    """Sentence pairs, news and parliament before the rest; neither side over 100 words."""
    import zstandard

    name = f"parallel/{lp}.tsv.zst"
    path = next(p for p in (data / name, data.parent / name) if p.exists())
    preferred: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    with path.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as stream:
        for line in io.TextIOWrapper(stream, encoding="utf-8"):
            foreign, english, origin = line.rstrip("\n").split("\t")
            if max(len(foreign.split()), len(english.split())) < 100:
                (preferred if origin in FIRST else others).append((foreign, english))
            if len(preferred) >= pairs:
                break
    chosen = (preferred + others)[:pairs]
    return [x for x, _ in chosen], [z for _, z in chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pairs", nargs="+", metavar="LP")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    args = parser.parse_args()
    make(args.data.resolve(), args.work.resolve(), args.pairs)
    make(args.data.resolve(), args.work.resolve(), args.pairs, "000.4")


if __name__ == "__main__":
    main()
