"""Training, from Python. `mtgauge train` is the same from the command line.

    import mtgauge
    from mtgauge.train import JudgedFiles, RegressorTraining

    files = JudgedFiles(train=["da15.tsv.gz", "da16.tsv.gz"], dev_share=0.1)
    card = mtgauge.train.regressor(files, "my-regressor", RegressorTraining(epochs=4))
    metric = mtgauge.load("regressor:model=my-regressor")

    mtgauge.train.head("esim", files, "my-esim")              # bilstm, bilstm-attention, esim, ruse
    mtgauge.train.blend(["da16.tsv.gz"], ["chrf", "kobe"])    # needs no torch

`pack`, `distil` and the makers of the embedded models (`prepare_corpus`, `tune_teacher`, `sample`,
`encoder`, `language_model`, `export`) are doors of the same kind; `settings` says what each takes.
A name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtgauge.errors import ResourceError

if TYPE_CHECKING:
    from mtgauge.train.embedded.build import build as prepare_corpus
    from mtgauge.train.embedded.export import export
    from mtgauge.train.embedded.runs import encoder, language_model, sample, tune_teacher
    from mtgauge.train.judged.files import pack_files as pack
    from mtgauge.train.metrics.blend import blend
    from mtgauge.train.metrics.distil import distil
    from mtgauge.train.metrics.heads import head
    from mtgauge.train.metrics.regressor import regressor
    from mtgauge.train.settings import HeadTraining, JudgedFiles, RegressorTraining

__all__ = [
    "HeadTraining", "JudgedFiles", "RegressorTraining", "blend", "distil", "encoder", "export",
    "head", "language_model", "pack", "prepare_corpus", "regressor", "sample", "tune_teacher",
]  # fmt: skip

_HOMES = {
    "HeadTraining": ("settings", "HeadTraining"),
    "JudgedFiles": ("settings", "JudgedFiles"),
    "RegressorTraining": ("settings", "RegressorTraining"),
    "blend": ("metrics.blend", "blend"),
    "distil": ("metrics.distil", "distil"),
    "encoder": ("embedded.runs", "encoder"),
    "export": ("embedded.export", "export"),
    "head": ("metrics.heads", "head"),
    "language_model": ("embedded.runs", "language_model"),
    "pack": ("judged.files", "pack_files"),
    "prepare_corpus": ("embedded.build", "build"),
    "regressor": ("metrics.regressor", "regressor"),
    "sample": ("embedded.runs", "sample"),
    "tune_teacher": ("embedded.runs", "tune_teacher"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mtgauge.train' has no attribute {name!r}")
    module, own = _HOMES[name]
    try:
        return getattr(import_module(f"mtgauge.train.{module}"), own)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("mtgauge"):
            raise
        raise ResourceError(
            f"Training needs {missing.name}, which is not installed: pip install 'mtgauge[train]'."
        ) from None


def __dir__() -> list[str]:
    return __all__
