from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.errors import UsageError
from mtgauge.metrics.blend import Blend
from mtgauge.registry import load, spec_of
from mtgauge.train.metrics.blend import fit_blend

SOURCES = ["Er war in Prag.", "Sie kam mit 4 Hunden.", "Das ist gut.", "Wo ist Berlin?"]
REFERENCES = [
    ("He was in Prague.",),
    ("She came with 4 dogs.",),
    ("That is good.",),
    ("Where is Berlin?",),
]
OUTPUT = ["He was in Prague.", "She came with dogs.", "This is good.", ""]
BATCH = Segments(OUTPUT, SOURCES, REFERENCES, "de-en")


def test_it_is_the_mean_of_z_scores() -> None:
    blend = Blend(("chrf", "ter"), (50.0, 40.0), (20.0, 10.0), (1.0, 3.0))
    rows = blend.statistics(BATCH)
    parts = []
    for name, centre, scale, sign in (("chrf", 50, 20, 1), ("ter", 40, 10, -1)):
        metric = load(name)
        parts.append(sign * (metric.segment_score(metric.statistics(BATCH)) - centre) / scale)
    np.testing.assert_allclose(blend.segment_score(rows), (parts[0] + 3 * parts[1]) / 4)
    assert blend.system_score(rows.sum(0)[None], np.array([4.0])).shape == (1,)


def test_a_missing_score_is_left_out() -> None:
    blend = load("blend")
    chrf = load("blend:components=chrf,centres=55,scales=20,weights=1")
    # the third source names nothing, so KoBE has no score there
    assert blend.segment_score(blend.statistics(BATCH))[2] == pytest.approx(
        (chrf.segment_score(chrf.statistics(BATCH))[2] * 20 + 55 - blend.params()["centres"][0])
        / blend.params()["scales"][0]
    )
    assert blend.notes["without a component"] == 1
    assert "no_entities" not in blend.notes, "the blend has a score"


def test_explain_shows_the_parts() -> None:
    blend = load("blend")
    one = Segments(
        ["He lives in Prague."], ["Bydlí v Praze."], [("He lives in old Prague.",)], "cs-en"
    )
    found = blend.explain(one)
    parts = found.facts["components"]
    assert [part["component"] for part in parts] == ["chrf", "kobe"]
    assert sum(part["contribution"] for part in parts) == pytest.approx(found.score)
    assert [part.metric for part in found.parts] == ["chrf", "kobe"]
    assert found.parts[0].score == parts[0]["score"]
    assert "old" in {f.other for f in found.parts[0].findings}
    unnamed = Segments(["Oh no."], ["Ale ne."], [("But no.",)], "cs-en")
    left_out = [f for f in blend.explain(unnamed).findings if f.what == "kobe"]
    assert left_out[0].text == "no score: left out"


def test_what_the_components_need_it_needs() -> None:
    assert load("blend").needs == {"source", "reference"}
    assert load("blend:components=kobe,centres=0,scales=1,weights=1").needs == {"source"}


def test_fitted_weights_prefer_the_component_that_agrees() -> None:
    human = load("chrf").segment_score(load("chrf").statistics(BATCH)) / 50
    fitted = fit_blend(("chrf", "kobe"), [(BATCH, human)])
    assert fitted.weights[0] > fitted.weights[1]
    assert load(spec_of(fitted)).params() == fitted.params()
    with pytest.raises(UsageError, match="agrees"):
        fit_blend(("chrf",), [(BATCH, -human)])
    with pytest.raises(UsageError, match="one judgement"):
        fit_blend(("chrf",), [(BATCH, [1.0])])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blend:components=chrf", "same length"),
        ("blend:scales=0;1", "scales=0;1 is out of range. Each value must be above 0"),
        ("blend:scales=nan;1", "scales=nan;1 is out of range"),
        ("blend:weights=-1;1", "Each value must be 0 or more"),
        ("blend:components='blend;chrf'", "component of a blend"),
    ],
)
def test_wrong_options(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(spec)


def test_fitting_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman"]
    human = (1.0, 0.2, 0.5, -1.0)
    columns = zip(SOURCES, REFERENCES, [*OUTPUT[:3], "Is Berlin?"], human, strict=True)
    for i, (source, (reference,), text, score) in enumerate(columns):
        rows.append(f"de-en\tA\t{i}\t{source}\t{reference}\t{text}\t{score}")
    file = tmp_path / "judged.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    command = ["train", "blend", "--train", str(file), "--components", "chrf", "ter"]
    assert main([*command, "--test", str(file)]) == 0
    out = capsys.readouterr().out
    fitted = load(out.strip().splitlines()[-1])
    assert isinstance(fitted, Blend)
    assert fitted.components == ("chrf", "ter")
    assert "de-en\t4\t" in out
    assert main([*command, "--equal"]) == 0
    equal = load(capsys.readouterr().out.strip().splitlines()[-1])
    assert equal.params()["weights"] == (1.0, 1.0)
    assert equal.params()["centres"] == fitted.centres
    assert main([*command, "--pairs", "fr-en"]) == 2
    assert "no judged segments of fr-en" in capsys.readouterr().err
