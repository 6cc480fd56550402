"""The printed tables: complete, matched to the right rows, honest about hidden signs."""

from __future__ import annotations

import doctest
import math
import re
from typing import Any

import pytest

from mtgauge import registry
from mtgauge.errors import UsageError
from mtgauge.meta import experiments, tables
from mtgauge.meta.rows import Row
from mtgauge.meta.study import Findings, Plan, gather, study
from mtgauge.report import experiment, plots
from mtgauge.signature import Signature


def _row(metric="sentbleu", lp="de-en", value=0.4325, **more):
    facts = {
        "signature": Signature(metric),
        "data": "da17",
        "level": "segment",
        "n": 560,
        "values": {"pearson": value},
        "dataset": "WMT17",
    }
    return Row(metric=metric, lp=lp, **{**facts, **more})


def test_every_printed_row_has_a_recipe_or_says_what_is_missing():
    for printed in tables.results():
        made = tables.recipe(printed)
        assert made.spec or made.missing, printed
        assert bool(made.method) == bool(made.stand_in), "a stand-in says what it stands for"
        assert not made.method or made.missing, "a method on our models is for what is missing"
        assert all(cell.note in tables.NOTES for cell in printed.cells.values() if cell.note)


def test_specs_in_the_recipes_load():
    specs = {tables.recipe(p).spec for p in tables.results()}
    specs |= {tables.recipe(p).method for p in tables.results()}
    specs |= {spec for offered in tables.DEFAULTS.values() for spec in offered}
    for spec in specs - {""}:
        assert registry.load(spec).name == spec.split(":")[0]


def test_the_numbers_agree_with_their_own_averages():
    """A slip in the file would show here; averages known to be misprinted are marked."""
    for printed in tables.results():
        average = printed.cells.get("Average")
        if average is None or average.value is None or average.note in ("mean",):
            continue
        values = [c.value for lp, c in printed.cells.items() if lp != "Average"]
        if None in values:
            continue
        assert sum(values) / len(values) == pytest.approx(average.value, abs=0.0016), printed


def test_printed_values_stand_beside_ours():
    (entry,) = [e for e in tables.beside(_row()).paper if e["paper"] == "000" and e["table"] == "1"]
    assert entry["metric"] == "SentBLEU"
    assert entry["value"] == 0.432
    assert entry["difference"] == pytest.approx(0.0005)
    assert entry["note"] == ""


def test_known_faults_are_noted():
    row = _row(lp="cs-en")
    assert "4" not in {e["table"] for e in tables.beside(row).paper}, "printed of other data"
    printed = tables.experiment("000.4")
    text = experiment.render(Findings("segment", [row], printed=printed), "markdown")
    assert "known to be wrong: these are system-level values of WMT19" in text
    cells = experiments.cells(Findings("segment", [tables.beside(row)], printed=printed))
    assert [cell.how for cell in cells if cell.row == "BLEU"] == ["", "", ""]
    assert all("printed number of this data" in c.reason for c in cells if c.row == "BLEU")
    row = _row("bleu", "tr-en", -0.657, data="wmt18", level="system", dataset="WMT18", n=5)
    (entry,) = tables.beside(row).paper
    assert entry["difference"] == pytest.approx(0.0), "compared as an absolute value"
    assert "hides a minus" in entry["note"]


@pytest.mark.parametrize(
    "row",
    [
        _row(n=435),  # another selection of segments
        _row(dataset="WMT16"),
        _row(level="system"),
        _row("chrf:beta=3"),
        _row(data="da17[human < 0]"),
        _row(lp="gu-en"),
    ],
)
def test_what_does_not_match_gets_nothing(row):
    assert [e for e in tables.beside(row).paper if e["paper"] == "000"] == []


def test_weights_do_not_make_another_metric_but_are_noted():
    row = _row("bertr:preset=paper2019", value=0.6)
    (entry,) = [e for e in tables.beside(row).paper if e["metric"] == "BERTr"]
    assert "the paper's is bertr:preset=paper2019" in entry["note"]


def test_other_weights_stand_in_no_row_of_a_table_that_compares_weights():
    """Table X of paper 001 has a row per file of word vectors: a file of one's own is none."""

    def rows_of(spec):
        row = _row(spec, lp="fi-en", data="da16", dataset="WMT16")
        return [e["metric"] for e in tables.beside(row).paper if e["table"] == "X"]

    assert rows_of("std:preset=paper,vectors=own.vec") == []
    assert rows_of("std:preset=paper,vectors=glove.840B.300d.txt") == ["STD_g300"]


def test_wordf_has_the_settings_of_its_year():
    specs = {
        row.dataset: tables.recipe(row).spec
        for table in ("IV", "V")
        for row in tables.rows_of("001", table)
        if row.metric == "WordF3"
    }
    assert specs == {
        "WMT15": "chrf:char_order=0,word_order=2,eps_smoothing=on,beta=3",
        "WMT16": "wordf:tokenize=moses,eps_smoothing=on,beta=3",
    }


def test_a_sample_is_named_in_the_row():
    printed = tables.experiment("000.1")
    method = "xmoverscore:preset=paper2020,ngram=1,lm=off"
    rows = [tables.beside(_row(method)), tables.beside(_row("xmoverscore"))]
    found = Findings("segment", rows, printed=printed, sampled={method: 150, "xmoverscore": 150})
    text = experiment.render(found, "markdown")
    assert f"{method} (embedded encoder for M-BERT; 150 segments per pair)" in text
    assert "| xmoverscore (150 segments per pair) |" in text


def test_a_bar_says_when_it_is_over_fewer_pairs_than_the_table_has(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(plots, "save", lambda made, path: drawn.setdefault(path.name, made))
    rows = [tables.beside(_row(lp=lp, value=0.5)) for lp in ("cs-en", "de-en")]
    plots.plot_experiment(tmp_path, Findings("segment", rows, printed=tables.experiment("000.1")))
    (axes,) = drawn["000.1.png"].axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "SentBLEU (2 of 7 pairs)"
    assert names[1] == "chrF++", "the printed row has all seven"
    printed, ours = (bars.patches[0].get_width() for bars in axes.containers)
    assert (printed, ours) == (pytest.approx((0.435 + 0.432) / 2), 0.5)
    plots.plot_experiment(tmp_path, Findings("segment", [], printed=tables.experiment("004.5")))
    (axes,) = drawn["004.5.png"].axes
    assert axes.get_xlabel() == "pearson, all pairs pooled, WMT17-small"
    assert axes.containers[0].patches[0].get_width() == 0.728, "BERT regressor, All"


def test_a_trained_stand_in_says_on_how_much_it_was_trained():
    method = "esim:model=heads/embedded/TrainL/esim"
    taught = {method: "13,440 training segments, 2 epochs"}
    found = Findings("segment", [_row(method)], printed=tables.experiment("002.1"), taught=taught)
    found.rows = [tables.beside(row) for row in found.rows]
    text = experiment.render(found, "markdown")
    assert "judgements for TrainL; 13,440 training segments, 2 epochs) |" in text


def test_averages_match_only_over_the_same_pairs():
    pairs = tuple(f"{s}-en" for s in "cs de fi lv ru tr zh".split())
    whole = _row(lp="average", value=0.481, over=pairs, n=560 * 7)
    assert {e["table"] for e in tables.beside(whole).paper} >= {"1"}
    part = _row(lp="average", value=0.481, over=pairs[:5], n=560 * 5)
    assert tables.beside(part).paper == []


def test_scores_from_a_file_match_by_name():
    signature = Signature("YiSi-2_srl", facts={"from": "file"})
    row = Row(
        "YiSi-2_srl", signature, "sys19", "de-en", "system", 16,
        {"pearson": 0.804}, dataset="WMT19",
    )  # fmt: skip
    found = {(e["paper"], e["table"]): e for e in tables.beside(row).paper}
    assert found["003", "1"]["difference"] == pytest.approx(0.0)


def _rendered(printed, rows, format):
    return experiment.render(Findings(printed[0].level, rows, printed=printed), format)


def test_experiments_show_every_row_and_what_is_missing():
    printed = tables.experiment("000.1")
    rows = [tables.beside(_row()), tables.beside(_row(lp="cs-en", value=0.435))]
    text = _rendered(printed, rows, "table")
    assert "SentBLEU (printed)" in text
    assert "\n  sentbleu " in text
    missing = text[text.index("Missing, and what then fills the row") :]
    laser = "cosine:preset=paper2020,encoder='laser:LASER',lm=off"
    assert f'  Cosine+LASER\n    -m "{laser}"\n' in missing
    assert missing.index("- weights of the LASER of 2019") < missing.index("  Cosine+LASER\n")
    assert "SentBLEU" not in missing
    wide = [line for line in text.splitlines() if len(line) > 100]
    assert all(line.startswith("    -m ") for line in wide), "only what is copied is never broken"
    tabled = _rendered(printed, rows, "markdown")
    assert re.search(r"\n\| Cosine\+LASER \| weights of the LASER of 2019 .*\| cosine:", tabled)
    assert not re.search(r"\n\| SentBLEU \| the table's", tabled)
    more = _rendered(printed, [*rows, _row("wer", value=0.25)], "markdown")
    block = more[more.index("Not in the paper") :]
    assert "| wer | - | 0.250 |" in block
    assert "sentbleu" in tables.specs(printed)
    assert "xmoverscore:preset=paper2020,remap=remaps/word/clp" in tables.specs(printed)
    assert "xmoverscore" not in tables.specs(printed)
    with pytest.raises(UsageError, match=r"There are: 000\.1"):
        tables.experiment("9")


def test_a_long_name_of_a_row_is_folded_in_a_terminal_only():
    method = "xmoverscore:preset=paper2020,ngram=1,lm=off"
    rows = [tables.beside(_row(method, value=0.4))]
    text = _rendered(tables.experiment("000.1"), rows, "table")
    folded = (
        "  xmoverscore:preset=paper2020,\n    ngram=1,lm=off (embedded encoder\n    for M-BERT) "
    )
    assert folded in text
    assert re.search(r"\n    for M-BERT\) +- +0\.400 ", text), "the numbers stand in the last line"
    assert f"|   {method} (embedded encoder for M-BERT) |" in _rendered(
        tables.experiment("000.1"), rows, "markdown"
    )


def test_garbled_cells_have_no_value():
    (row,) = [r for r in tables.rows_of("000", "6") if r.metric == "SentBLEU"]
    assert row.cells["de-en"].value is None
    assert row.cells["Average"].value == 0.234
    printed = tables.beside(
        _row(dataset="WMT18", values={"tau_wmt": 0.4}, n=9, metric="sentbleu")
    ).paper
    assert [e["difference"] for e in printed] == [None]
    assert math.isfinite(row.cells["cs-en"].value)


@pytest.mark.shared
def test_a_table_of_scores_lacks_the_texts_too(shared):
    """Weights alone would not fill a row where only the official scores are here."""
    judged = gather(score_files=[shared / "wmt" / "sys19-metrics.csv"], lang=["de-en"])
    found = study(judged, Plan(experiment="000.8", ci=False))
    reasons = {line.printed.metric: line.reason for line in experiments.lines(found)}
    assert reasons["BLEU"] == ""
    assert reasons["Mover-1+M-BERT"].startswith("texts of WMT19; weights of M-BERT (")
    found = study(judged, Plan(experiment="003.1", ci=False))
    reasons = {line.printed.metric: line.reason for line in experiments.lines(found)}
    assert reasons["KoBE"] == "texts of WMT19 and the entity annotations of KoBE"


def test_a_default_stands_apart_and_a_stand_in_says_for_what():
    """No printed row has a neighbour of other settings."""
    rows = [
        tables.beside(_row("std", value=0.5, dataset="WMT16", data="da16")),
        tables.beside(_row("std:preset=paper", value=0.4, dataset="WMT16", data="da16")),
    ]
    text = _rendered(tables.experiment("001.V"), rows, "markdown")
    method, _, rest = text.partition("mtgauge's defaults, which are not the paper's settings")
    label = "std:preset=paper (embedded word vectors for fastText crawl-300d-2M)"
    assert f"\n|   {label} | - | - | - | 0.400 |" in method
    assert "\n| std | - | - | - | 0.500 |" in rest
    assert "| STD | the word vectors crawl-300d-2M.vec |" in rest
    assert "the method on our models: -0.121 on average over 1 cells" in method


def test_every_printed_number_is_counted_with_ours_or_a_reason():
    printed = tables.experiment("000.8")
    signature = Signature("YiSi-2", facts={"from": "file"})
    values = dict(
        zip(printed[0].cells, (0.796, 0.642, -0.566, -0.324, 0.442, -0.339, 0.94), strict=False)
    )
    shared = {"signature": signature, "data": "sys19", "dataset": "WMT19", "level": "system"}
    rows = [_row("YiSi-2", lp, value, n=11, **shared) for lp, value in values.items()]
    rows.append(_row("YiSi-2", "average", 0.227, n=77, over=tuple(values), **shared))
    found = Findings("system", [tables.beside(row) for row in rows], printed=printed)
    cells = experiments.cells(found)
    assert len(cells) == 98
    assert all((cell.ours is None) == bool(cell.reason) for cell in cells)
    mine = [cell for cell in cells if cell.row == "YiSi-2"]
    assert {cell.how for cell in mine} == {"same"}
    assert experiments.mean_gap(mine) == pytest.approx(0, abs=5e-4), "compared without signs"
    other = next(cell for cell in cells if cell.row == "Mover-1+M-BERT")
    assert "M-BERT" in other.reason


def test_without_data_the_reason_names_it():
    printed = tables.experiment("001.VI")
    cells = experiments.cells(Findings("system", printed=printed))
    assert len(cells) == 70
    assert all("system outputs and system-level judgements of WMT15" in c.reason for c in cells)


def test_quality_bands():
    assert doctest.testmod(experiments).failed == 0
    bands = {"da17": 0.7, "da17[human >= 0]": 0.5, "da17[human < 0]": 0.4}
    rows = [_row("bleu", "pooled", value, data=data) for data, value in bands.items()]
    text = _rendered(tables.experiment("004.5"), rows, "markdown")
    assert "| bleu | 0.700 | 0.500 | 0.400 | 20.000 |" in text[text.index("Not in the paper") :]
