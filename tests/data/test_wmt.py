"""The official WMT folders, with their habits: merged systems, humans, hybrids, short headers."""

from __future__ import annotations

import numpy as np
import pytest

from mtgauge.data import judged_files
from mtgauge.errors import InputError


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "WMT18"
    for name, text in {
        "DA-syslevel.csv": "LP HUMAN SYSTEM\nde-en 0.2 one.11\nde-en 0.1 two-hybrid.22\n"
        "de-en 0.5 HUMAN\n",
        "DA-seglevel.csv": "LP DATA SYSTEM SID HUMAN\nde-en newstest2018 one.11 1 0.7\n"
        "de-en newstest2018 gone.0+two-hybrid.22 2 -0.25\n",
        # the header of WMT18 forgets DATA
        "RR-seglevel.csv": "LP SID BETTER WORSE\nde-en newstest2018 2 one.11 two-hybrid.22\n"
        "de-en newstest2018 2 one.11 two-hybrid.22\n",
        "system-outputs/de-en/newstest2018.one.11.de-en": "A dog.\nIt rains.\n",
        "system-outputs/de-en/newstest2018.two-hybrid.22.de-en": "Dog.\nRain.\n",
        "system-outputs/de-en/newstest2018.unjudged.33.de-en": "x\ny\n",
        "references/newstest2018-deen-ref.en": "A dog.\nIt is raining.\n",
        "source/newstest2018-deen-src.de": "Ein Hund.\nEs regnet.\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_folder_is_read_as_it_is(folder):
    (found,) = judged_files.read(folder)
    assert (found.lp, found.dataset, found.data) == ("de-en", "WMT18", "WMT18")
    assert list(found.systems) == ["one.11"] * 2 + ["two-hybrid.22"] * 2, "hybrids stay"
    assert list(found.sids) == ["1", "2", "1", "2"]
    assert found.human[0] == 0.7
    assert np.isnan(found.human[1])
    assert found.human[3] == -0.25, "of a+b the first that has an output"
    assert found.sources[3] == "Es regnet."
    assert found.references[3] == ("It is raining.",)
    assert found.pairs.tolist() == [[1, 3]], "records count once"
    assert found.system_human == {"one.11": 0.2, "two-hybrid.22": 0.1}, "humans are no system"


def test_the_other_direction_lends_its_source_as_reference(folder):
    (folder / "references/newstest2018-deen-ref.en").unlink()
    (folder / "references/newstest2018-ende-src.en").write_text("A dog!\nRain!\n")
    assert judged_files.read(folder)[0].references[0] == ("A dog!",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("DA-seglevel.csv", "LP SYSTEM SID HUMAN\n", "line 1: the header is not LP DATA"),
        (
            "DA-seglevel.csv",
            "LP DATA SYSTEM SID HUMAN\nde-en n one.11 9 0.1\n",
            "line 2: there is no output of one.11 for segment 9",
        ),
        (
            "DA-seglevel.csv",
            "LP DATA SYSTEM SID HUMAN\nde-en n one.11 x 0.1\n",
            "line 2: column SID: 'x' is not a line number",
        ),
        ("RR-seglevel.csv", "LP SID BETTER WORSE\nde-en 2 a b\n", "line 2: 4 columns"),
        ("DA-syslevel.csv", "LP HUMAN SYSTEM\nde-en x one.11\n", "column human: 'x'"),
        ("references/newstest2018-deen-ref.en", "A dog.\n", "references has 1 lines"),
    ],
)
def test_faults_are_named(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(InputError) as error:
        judged_files.read(folder)
    assert message in str(error.value)


def test_outputs_are_needed(folder):
    for path in (folder / "system-outputs/de-en").iterdir():
        path.unlink()
    with pytest.raises(InputError, match="no outputs"):
        judged_files.read(folder)
