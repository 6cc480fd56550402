"""One way to make a metric ready, and what is said of what cannot be served."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mtgauge
from mtgauge import encode, registry
from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.engine.cache import RowCache
from mtgauge.engine.places import rows_of
from mtgauge.engine.ready import check_device, make_ready, serve
from mtgauge.errors import InputError, LanguageError, ResourceError, UsageError
from mtgauge.explanation import Explanation
from mtgauge.meta.scoring import score as score_judged
from mtgauge.metric import Task
from mtgauge.signature import restore, sign

SOURCES = ["Die Katze sitzt auf der Matte.", "In Berlin regnet es heute.", "Gute Nacht, Anna!"]
REFERENCES = ["The cat sits on the mat.", "It is raining in Berlin today.", "Good night, Anna!"]
OUTPUT = ["The cat sat on a mat.", "Today it rains in Berlin.", "Good night, Anna!"]
BOTH = Task(frozenset({"source", "reference"}), "de-en")
BLEND = "blend:components=regressor,centres=0,scales=1,weights=1"


def test_a_ready_metric_is_settled_fitted_and_signed() -> None:
    found = make_ready("nist", BOTH, references=lambda: REFERENCES, facts={"empty": "skip"})
    assert found.metric.params()["tokenize"] == "13a"
    assert found.corpus
    assert "|refs:1|lang:de-en|empty:skip|" in found.signature.short
    found.metric.rows(Segments(OUTPUT, references=[(r,) for r in REFERENCES], lang="de-en"))
    with pytest.raises(UsageError, match="learns from all references"):
        make_ready("nist", BOTH)


def test_only_metrics_that_read_references_count_them() -> None:
    assert "refs:2" in make_ready("chrf", BOTH, number=2).signature.short
    assert "refs" not in make_ready("kobe", BOTH, number=2).signature.short


def test_wrong_usage_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"chrf needs a reference \(-r FILE\)"):
        make_ready("chrf", Task(frozenset({"source"}), "de-en"))
    with pytest.raises(UsageError, match="asked for twice"):
        serve(["bleu", "bleu"], BOTH)
    with pytest.raises(UsageError, match="There is no metric"):
        serve(["std", "bleau"], Task(BOTH.sides, "en-sw"))
    with pytest.raises(UsageError, match="multi_ref applies only where view is not hyp"):
        make_ready("regressor:multi_ref=mean", Task(frozenset({"source"}), "de-en"))
    with pytest.raises(UsageError, match="language pair"):
        make_ready("kobe", Task(frozenset({"source"})))


def test_what_one_language_lacks_does_not_stop_the_others() -> None:
    found, unserved = serve(["bleu", "std", "kobe"], Task(BOTH.sides, "en-mi"))
    assert list(found) == ["bleu"]
    assert "no word vectors" in unserved["std"]
    assert "does not know the language mi" in unserved["kobe"]
    with pytest.raises(LanguageError, match="no word vectors"):
        serve(["std"], Task(BOTH.sides, "en-sw"))


def test_a_folder_of_remaps_may_lack_a_pair(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="has no remap for de-en"):
        make_ready(f"cosine:remap={tmp_path},lm=off", BOTH)


def test_a_missing_model_is_an_error_whatever_else_runs() -> None:
    with pytest.raises(ResourceError, match="no model folder"):
        serve(["bleu", "esim:model=nowhere"], BOTH)


# blend


def test_a_blend_settles_its_components_and_says_so() -> None:
    def run(sources: list[str] | None) -> tuple[float, str]:
        result = mtgauge.score(OUTPUT, sources, REFERENCES, [BLEND, "regressor"], "de-en", ci=False)
        alone = result["regressor"]["system"].score
        assert result[BLEND]["system"].score == pytest.approx(alone)
        return alone, result[BLEND].signature.short

    with_sources, without = run(SOURCES), run(None)
    assert with_sources[0] != without[0]
    assert "regressor:view=hyp+src/hyp+ref" in with_sources[1]
    assert "regressor:view=hyp+ref" in without[1]
    again = restore(without[1])
    batch = Segments(OUTPUT, SOURCES, [(r,) for r in REFERENCES], "de-en")
    settled = again.resolve(Task.of(batch))
    found = settled.system_score(settled.rows(batch).sum(0)[None], np.array([3.0]))
    assert found[0] == pytest.approx(without[0]), "the signature restores what was scored"


def test_components_that_disagree_on_a_version_are_told_apart() -> None:
    spec = "blend:components='regressor;esim',centres=0;0,scales=1;1,weights=1;1"
    versions = registry.load(spec).versions()
    assert {"regressor.fingerprint", "esim.fingerprint"} <= set(versions)


# devices


@pytest.fixture
def _on_cuda() -> object:
    encode.configure(device="cuda")
    yield
    encode.configure(device="auto")


@pytest.mark.usefixtures("_on_cuda")
def test_a_device_that_nothing_uses_is_refused() -> None:
    for specs in (["regressor"], ["bleu", "kobe", "std"], [BLEND]):
        with pytest.raises(UsageError, match="--device cuda would do nothing"):
            check_device(registry.load(spec) for spec in specs)
    check_device(registry.load(spec) for spec in ("bleu", "xmoverscore"))
    check_device([registry.load("esim")])
    check_device([])


@pytest.mark.parametrize("command", ["score", "explain", "probe", "meta"])
def test_commands_refuse_a_device_that_nothing_uses(
    files: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    arguments = {
        "score": "-t a.txt -s src.txt -m regressor",
        "explain": "-t a.txt -s src.txt -m regressor --segment 1",
        "probe": "reorder -s src.txt -r ref.txt -l de-en -m regressor --no-cache",
        "meta": "judged.tsv -m regressor --no-cache",
    }
    try:
        code = main(f"{command} {arguments[command]} --device cuda".split())
    finally:
        encode.configure(device="auto")
    assert code == 2
    assert "--device cuda would do nothing: regressor runs on the CPU only" in (
        capsys.readouterr().err
    )


# cells


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"ref": REFERENCES, "src": SOURCES, "a": OUTPUT, "b": SOURCES}.items():
        Path(f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman"]
    for lp in ("de-en", "en-sw"):
        for i in range(6):
            text = OUTPUT[i % 3] + " more" * (i // 3)
            rows.append(f"{lp}\tA\t{i}\t{SOURCES[i % 3]}\t{REFERENCES[i % 3]}\t{text}\t{i % 4}")
    Path("judged.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("format", ["table", "tsv", "json", "markdown", "latex"])
def test_score_says_so_in_the_cell(
    files: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    command = f"score -t a.txt b.txt -r ref.txt -l en-sw -m bleu std --format {format} --quiet"
    assert main(command.split()) == 0
    out, err = capsys.readouterr()
    assert "std has no scores: mtgauge has no word vectors of its own for 'sw'" in err
    if format == "json":
        bleu, std = json.loads(out)["metrics"]
        assert "reason" not in bleu
        assert "no word vectors" in std["reason"]
        assert std["systems"]["a"] == {"score": None}
        assert bleu["signature_full"].startswith("bleu|tokenize:13a|lowercase:off|")
    elif format == "tsv":
        rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
        assert [row["score"] for row in rows if row["metric"] == "std"] == ["unserved"] * 2
        assert all(float(row["score"]) >= 0 for row in rows if row["metric"] == "bleu")
    else:
        assert out.count("unserved") >= 2


def test_a_run_that_serves_nothing_is_an_error(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("score -t a.txt -r ref.txt -l en-sw -m std".split()) == 4
    assert capsys.readouterr().out == ""
    assert main("meta judged.tsv -m std -l en-sw --no-cache".split()) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "no word vectors" in err


@pytest.mark.parametrize("format", ["table", "tsv", "json", "markdown"])
def test_meta_says_so_in_the_cell_and_goes_on(
    files: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    command = f"meta judged.tsv -m chrf std --no-cache --no-ci --quiet --format {format}"
    assert main(command.split()) == 0
    out, err = capsys.readouterr()
    assert "std has no scores for en-sw: mtgauge has no word vectors" in err
    if format == "json":
        rows = {(row["metric"], row["lp"]): row for row in json.loads(out)["rows"]}
        assert rows["std", "en-sw"]["pearson"] is None
        assert "no word vectors" in rows["std", "en-sw"]["reason"]
        assert rows["std", "de-en"]["pearson"] is not None
        assert rows["chrf", "en-sw"]["pearson"] is not None
        assert "reason" not in rows["chrf", "en-sw"]
    elif format == "tsv":
        listed = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
        (row,) = [r for r in listed if (r["metric"], r["lp"]) == ("std", "en-sw")]
        assert row["pearson"] == ""
        assert "no word vectors" in row["outcomes"]
    else:
        assert "unserved" in out
        assert "no word vectors" in out


# signatures


def test_score_and_meta_sign_alike(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = "bleu chrf:beta=3 kobe std regressor nist".split()
    score = "score -s src.txt -t a.txt -r ref.txt -l de-en --no-ci --format json --quiet -m"
    assert main([*score.split(), *specs]) == 0
    scored = {m["spec"]: m for m in json.loads(capsys.readouterr().out)["metrics"]}
    meta = "meta judged.tsv -l de-en --no-cache --no-ci --format json --quiet -m"
    assert main([*meta.split(), *specs]) == 0
    judged = {row["metric"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    for spec in specs:
        for key in ("signature", "signature_full"):
            assert judged[spec][key] == scored[spec][key]


def test_averages_sign_their_pairs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("judged.tsv").read_text(encoding="utf-8").replace("en-sw", "en-zh")
    Path("judged.tsv").write_text(text.replace("en-zh", "fr-en"), encoding="utf-8")
    assert main("meta judged.tsv -m bleu --no-cache --no-ci --format json --quiet".split()) == 0
    rows = {row["lp"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert "|lang:average|" in rows["average"]["signature"]
    assert "|lang:de-en|" in rows["de-en"]["signature"]
    assert rows["average"]["signature"].startswith("bleu|tokenize:13a|refs:1|")


def test_verbose_shows_the_full_form(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "score -t a.txt -r ref.txt -l de-en -m chrf --no-ci"
    assert main(command.split()) == 0
    assert "signature  chrf|refs:1|lang:de-en|mtgauge:" in capsys.readouterr().err
    assert main([*command.split(), "--verbose"]) == 0
    assert "signature  chrf|char_order:6|word_order:0|beta:2|" in capsys.readouterr().err
    assert main("meta judged.tsv -m chrf --no-cache --no-ci --verbose".split()) == 0
    assert "signature  chrf|char_order:6|" in capsys.readouterr().err


def test_a_signature_does_not_take_a_fact_for_an_option(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "score -s src.txt -t a.txt -m xmoverscore:preset=paper2020,lm=off --unescape --no-ci"
    assert main([*command.split(), "--format", "json", "--quiet"]) == 0
    (metric,) = json.loads(capsys.readouterr().out)["metrics"]
    assert "|texts:unescaped|" in metric["signature"]
    assert restore(metric["signature"]).params()["unescape"] is False


def test_alternatives_in_memory_are_counted() -> None:
    result = mtgauge.score(OUTPUT, references=[(r, r) for r in REFERENCES], metrics=["chrf"])
    assert "|refs:2|" in result["chrf"].signature.short


def test_the_row_cache_keeps_rows_of_different_settlements_apart(tmp_path: Path) -> None:
    batch = Segments(OUTPUT, SOURCES, [(r,) for r in REFERENCES], "de-en")
    cache = RowCache(tmp_path)
    for sides in ({"source"}, {"reference"}, {"source", "reference"}):
        rows_of(make_ready("regressor", Task(frozenset(sides), "de-en")), batch, cache=cache)
    assert (cache.hits, cache.misses) == (0, 9)
    ready = make_ready("regressor", BOTH)
    assert np.array_equal(rows_of(ready, batch, cache=cache), ready.metric.rows(batch))
    assert cache.hits == 3


def test_judged_scores_are_those_of_a_plain_run(files: Path) -> None:
    from mtgauge.data.judged_files import read

    (judged,) = read(Path("judged.tsv"), "de-en")
    found = score_judged(judged, "nist")
    batch = judged.segments()
    ready = make_ready("nist", Task.of(batch), references=lambda: REFERENCES * 2)
    np.testing.assert_array_equal(
        found.segments, ready.metric.segment_score(ready.metric.rows(batch))
    )
    assert found.signature.short == ready.signature.short


# explain


def test_explain_in_python() -> None:
    found = mtgauge.explain(OUTPUT, SOURCES, REFERENCES, "bleu", "de-en", segment=2)
    assert isinstance(found, Explanation)
    score = mtgauge.score(OUTPUT, SOURCES, REFERENCES, ["bleu"], "de-en", ci=False)
    assert found.score == score["bleu"]["system"].segments[1]
    nist = mtgauge.explain(OUTPUT, None, REFERENCES, "nist", "de-en", segment=3)
    all_ = mtgauge.score(OUTPUT, None, REFERENCES, ["nist"], "de-en", ci=False)
    assert nist.score == all_["nist"]["system"].segments[2], "fitted on all references"
    with pytest.raises(InputError, match="no segment 4"):
        mtgauge.explain(OUTPUT, None, REFERENCES, "chrf", segment=4)
    with pytest.raises(UsageError, match="needs a reference"):
        mtgauge.explain(OUTPUT, SOURCES, metric="chrf")


def test_explain_reads_references_from_standard_input(files: Path) -> None:
    command = "explain -t a.txt -r - -l de-en -m nist --segment 1 --json"
    with Path("ref.txt").open("rb") as handle:
        done = subprocess.run(
            [sys.executable, "-m", "mtgauge", *command.split()],
            stdin=handle,
            capture_output=True,
            check=True,
        )
    expected = mtgauge.explain(OUTPUT, None, REFERENCES, "nist", "de-en")
    assert json.loads(done.stdout)["score"] == pytest.approx(expected.score)


def test_settled_twice_is_settled_once() -> None:
    ready = make_ready("cosine", BOTH)
    assert sign(ready.metric.resolve(BOTH)).full == sign(ready.metric).full
