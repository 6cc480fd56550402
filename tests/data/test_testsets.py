"""Test sets by name: sacrebleu's own list, its downloader replaced where it would reach out."""

from __future__ import annotations

import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
import sacrebleu.dataset

from mtgauge.cli import main
from mtgauge.data import testsets
from mtgauge.errors import ResourceError, UsageError


class Fetched:
    """A test set whose files are there already."""

    langpairs: dict[str, list[str]] = {"de-en": []}  # noqa: RUF012

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_source_file(self, lang: str) -> str:
        return str(self.folder / f"{lang}.src")

    def get_reference_files(self, lang: str) -> list[str]:
        return [str(self.folder / f"{lang}.ref{i}") for i in (1, 2)]


def test_files_of_a_set_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sacrebleu.dataset.DATASETS, "mine", Fetched(tmp_path))
    source, references = testsets.files("mine", "de-en")
    assert source == tmp_path / "de-en.src"
    assert [path.name for path in references] == ["de-en.ref1", "de-en.ref2"]
    assert "mine" in testsets.names("de-en")
    assert "mine" not in testsets.names("en-de")


def test_wmt_sets_are_known() -> None:
    assert {"wmt17", "wmt18", "wmt22"} <= set(testsets.names("en-de"))


@pytest.mark.parametrize(
    ("name", "lang", "said"),
    [
        ("wmt2", "en-de", "wmt2"),
        ("wmt22", None, "needs a language pair"),
        ("wmt22", "en-fr", "has no pair en-fr"),
    ],
)
def test_wrong_names_are_refused(name: str, lang: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        testsets.files(name, lang)


def test_without_a_network_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    for module in (sacrebleu.dataset.base, sacrebleu.utils):
        monkeypatch.setattr(module, "SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(ResourceError, match="could not be fetched") as error:
        testsets.files("wmt18", "de-en")
    assert "-s and -r" in str(error.value)


@pytest.mark.parametrize("lang", ["deu-eng", "de_AT-en_GB", "deu_Latn-eng_Latn"])
def test_a_pair_is_found_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    monkeypatch.setitem(sacrebleu.dataset.DATASETS, "mine", Fetched(tmp_path))
    assert testsets.files("mine", lang)[0] == tmp_path / "de-en.src"
    assert "mine" in testsets.names(lang)


def test_echo_prints_a_side_and_a_run_takes_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sacrebleu.dataset.DATASETS, "mine", Fetched(tmp_path))
    sides = {"src": "Der Hund bellt.\nEs regnet.\n", "ref1": "The dog barks.\nIt rains.\n"}
    for name, text in (sides | {"ref2": sides["ref1"]}).items():
        (tmp_path / f"de-en.{name}").write_text(text, encoding="utf-8")
    for side, file in (("source", "src"), ("reference", "ref1")):
        assert main(["score", "-T", "mine", "-l", "de-en", "--echo", side]) == 0
        assert capsys.readouterr().out == sides[file]
    translated = str(tmp_path / "de-en.ref2")
    assert main(["score", "-T", "mine", "-l", "de-en", "-t", translated, "-m", "bleu"]) == 0
    assert "100.00" in capsys.readouterr().out
    assert main(["score", "--echo", "source"]) == 2
    assert "name one with -T" in capsys.readouterr().err
