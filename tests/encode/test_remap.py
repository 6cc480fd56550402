"""CLP and UMD: formulas, files, refusals, and the commands that fit them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import mtgauge
from mtgauge.cli import main
from mtgauge.data.segments import Segments
from mtgauge.encode.remap import align
from mtgauge.encode.remap.maps import (
    METHODS,
    Remap,
    RemapFacts,
    find_remap,
    fit,
    language_direction,
    load,
    own_remap,
    procrustes,
    remove_direction,
)
from mtgauge.errors import InputError, LanguageError, ResourceError, UsageError
from mtgauge.registry import load as load_metric
from tiny_models import encoder_folders

RNG = np.random.default_rng(5)


def rotation(d: int, seed: int = 3) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


@pytest.mark.shared
def test_application_on_the_toy_vector(shared: Path) -> None:
    case = json.loads((shared / "spec/golden/xmover_toy.json").read_text("utf-8"))["mapping"]
    x = np.array([case["x"]], np.float32)
    clp = Remap(RemapFacts("clp"), np.array(case["W"], np.float32))
    np.testing.assert_allclose(clp.move(x, "source", False)[0], case["CLP_row_vector_x_at_W"])
    umd = Remap(RemapFacts("umd"), None, np.array(case["v_B"], np.float32))
    moved = umd.move(x, "source", False, "dot")[0]
    np.testing.assert_allclose(moved, case["UMD_code_x_minus_dot_v"], atol=1e-6)
    printed = umd.move(x, "source", False, "cosine")[0]
    np.testing.assert_allclose(printed, case["UMD_paper_x_minus_cos_v"], atol=1e-5)


@given(st.integers(2, 12), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_procrustes_recovers_a_rotation(d: int, seed: int) -> None:
    q = rotation(d, seed)
    x = np.random.default_rng(seed + 1).normal(size=(4 * d, d))
    w = procrustes(x, x @ q)
    np.testing.assert_allclose(w, q, atol=1e-10)
    np.testing.assert_allclose(w.T @ w, np.eye(d), atol=1e-10)


def test_language_direction_is_the_constant_difference() -> None:
    v = np.array([0.6, 0.8, 0.0])
    z = RNG.normal(size=(50, 3))
    found = language_direction(z + 5 * v + 0.01 * RNG.normal(size=(50, 3)), z)
    assert abs(found @ v) == pytest.approx(1.0, abs=1e-3)
    removed = remove_direction(np.array([[1, 2, 3]], np.float32), v.astype(np.float32), "dot")
    assert removed[0] @ v == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_brings_pairs_nearer(method: str) -> None:
    z = RNG.normal(size=(300, 8)).astype(np.float32)
    x = (z @ rotation(8).T + np.array([3, 0, 0, 0, 0, 0, 0, 0])).astype(np.float32)
    remap = fit(x, z, RemapFacts(method))
    before = np.linalg.norm(x - z, axis=1).mean()
    sides = remap.move(x, "source", True), remap.move(z, "target", True)
    assert np.linalg.norm(sides[0] - sides[1], axis=1).mean() < before
    assert remap.facts.pairs == 300


def test_compositions_are_read_right_to_left() -> None:
    w, v = rotation(3).astype(np.float32), np.array([1, 0, 0], np.float32)
    x = np.array([[1, 2, 3]], np.float32)
    after = Remap(RemapFacts("clp_umd"), w, v).move(x, "source", False)
    np.testing.assert_allclose(after, np.array([[0, 2, 3]], np.float32) @ w, atol=1e-6)
    before = Remap(RemapFacts("umd_clp"), w, v).move(x, "source", False)
    np.testing.assert_allclose(before[0, 0], 0, atol=1e-6)


def test_sides() -> None:
    w, v = rotation(3).astype(np.float32), np.array([1, 0, 0], np.float32)
    x = np.array([[1, 2, 3]], np.float32)
    both = Remap(RemapFacts("clp_umd"), w, v)
    np.testing.assert_array_equal(both.move(x, "hypothesis", False), x)
    np.testing.assert_allclose(both.move(x, "hypothesis", True), [[0, 2, 3]])


def test_files_keep_everything(tmp_path: Path) -> None:
    facts = RemapFacts("clp_umd", "de-en", "tiny", "abc", 2, "word", 0, 40)
    made = fit(RNG.normal(size=(30, 4)), RNG.normal(size=(30, 4)), facts)
    made.save(tmp_path / "de-en.remap")
    again = find_remap(str(tmp_path), "de-en")
    assert again.facts == made.facts
    for name, array in made.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])
    with pytest.raises(ResourceError, match=r"no remap for ru-en .it has de-en"):
        find_remap(str(tmp_path), "ru-en")
    assert find_remap(str(tmp_path), "de-AT-en-GB").facts == again.facts
    again.check(again.facts.fingerprint, again.facts.layer, "de-AT-en-GB")
    with pytest.raises(UsageError, match="language pair"):
        find_remap(str(tmp_path), None)


def test_one_remap_serves_many_languages(tmp_path: Path) -> None:
    wide = RemapFacts("judged", "en-mul", "tiny", "abc", 2)
    Remap(wide, rotation(4).astype(np.float32)).save(tmp_path / "en-mul.remap")
    for lang in ("en-de", "en-zh-Hant", "eng-zho"):
        find_remap(str(tmp_path), lang).check("abc", 2, lang)
    for lang in ("de-en", "en-en", "de-cs"):
        with pytest.raises(LanguageError, match=f"no remap for {lang} .it has en-mul"):
            find_remap(str(tmp_path), lang)
        with pytest.raises(ResourceError, match=f"en-mul .the texts are {lang}"):
            Remap(wide).check("abc", 2, lang)
    own = RemapFacts("clp", "en-de", "tiny", "abc", 2)
    Remap(own, rotation(4).astype(np.float32)).save(tmp_path / "en-de.remap")
    assert find_remap(str(tmp_path), "en-de").facts == own, "the pair's own comes first"


def test_an_encoders_own_remap_is_there_or_not(tmp_path: Path) -> None:
    facts = RemapFacts("judged", "en-mul", "tiny", "abc", 2)
    Remap(facts, rotation(4).astype(np.float32)).save(tmp_path / "en-mul.remap")
    found = own_remap(tmp_path, "en-de", 2)
    assert found is not None
    assert found.facts == facts
    assert own_remap(tmp_path, "en-de", 3) is None, "it was fitted for another layer"
    assert own_remap(tmp_path, "de-en", 2) is None
    assert own_remap(tmp_path, None, 2) is None
    assert own_remap(tmp_path, "toy-language", 2) is None
    assert own_remap(tmp_path / "nowhere", "en-de", 2) is None
    assert own_remap(None, "en-de", 2) is None


@given(st.integers(1, 200), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_a_vector_is_moved_the_same_whatever_stands_beside_it(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rows, 96)).astype(np.float32)
    remap = Remap(RemapFacts("clp"), rng.normal(size=(96, 96)).astype(np.float32))
    together = remap.move(vectors, "source", False)
    np.testing.assert_allclose(together, vectors @ remap.projection, rtol=1e-4, atol=1e-4)
    some = rng.permutation(rows)[: max(rows // 3, 1)]
    np.testing.assert_array_equal(remap.move(vectors[some], "source", False), together[some])


@pytest.mark.parametrize("note", ["{", "[]", "{}", '{"checksum": "x", "colour": "red"}', "3"])
def test_a_file_with_a_strange_note_is_refused(tmp_path: Path, note: str) -> None:
    path = tmp_path / "x.remap"
    save_file({"direction": np.ones(3, np.float32)}, path, metadata={"mtgauge_remap": note})
    with pytest.raises(ResourceError, match="not that of a remap"):
        load(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.remap"
    fit(RNG.normal(size=(30, 4)), RNG.normal(size=(30, 4)), RemapFacts("clp")).save(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 255
    path.write_bytes(content)
    with pytest.raises(ResourceError, match="damaged"):
        load(path)
    path.write_bytes(content[:20])
    with pytest.raises(ResourceError, match="not a remap file"):
        load(path)
    with pytest.raises(ResourceError, match="no remap file"):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("other", 2, "de-en"), "encoder tiny"),
        (("abc", 3, "de-en"), r"layer 2 .layer 3 is in use"),
        (("abc", 2, "en-de"), r"de-en .the texts are en-de"),
    ],
)
def test_a_mismatch_is_refused(values: tuple[str, int, str], message: str) -> None:
    remap = Remap(RemapFacts("umd", "de-en", "tiny", "abc", 2), None, np.ones(2, np.float32))
    remap.check("abc", 2, "de-en")
    with pytest.raises(ResourceError, match=message):
        remap.check(*values)
    with pytest.raises(ResourceError, match="compares sentence vectors"):
        remap.check("abc", 2, "de-en", "sentence")
    with pytest.raises(ResourceError, match="fitted for another encoder"):
        remap.move(np.ones((1, 3), np.float32), "source", False)


def test_released_files_in_one_and_two_dimensions(tmp_path: Path) -> None:
    v = np.array([0.6, 0.8, 0.0], np.float32)
    for name, array in (("one", v), ("two", np.stack([v, -v]))):
        path = tmp_path / f"{name}.de-en.2k.8.GBDD"
        with path.open("wb") as file:
            np.save(file, array)
        found = load(path)
        np.testing.assert_allclose(np.asarray(found.direction), v)
        assert (found.facts.lang, found.facts.layer, found.facts.method) == ("de-en", 8, "umd")
    path = tmp_path / "x.BAM"
    with path.open("wb") as file:
        np.save(file, np.ones((2, 3), np.float32))
    with pytest.raises(ResourceError, match="square"):
        load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ResourceError, match="not a NumPy array"):
        load(path)


@pytest.mark.shared
@pytest.mark.parametrize("lang", ["de-en", "ru-en", "zh-en"])
def test_the_authors_files(shared: Path, lang: str) -> None:
    clp = load(shared / f"mappings/europarl-v7.{lang}.2k.8.BAM")
    assert (clp.facts.lang, clp.facts.layer, clp.dim) == (lang, 8, 768)
    assert clp.projection is not None
    np.testing.assert_allclose(clp.projection.T @ clp.projection, np.eye(768), atol=1e-4)
    umd = load(shared / f"mappings/europarl-v7.{lang}.2k.8.GBDD")
    assert umd.direction is not None
    assert np.linalg.norm(umd.direction) == pytest.approx(1.0, abs=1e-5)
    assert find_remap(str(shared / "mappings"), lang).facts.method == "clp"


def test_mutual_best() -> None:
    rows, columns = align.mutual_best(np.array([[0.9, 0.1, 0.3], [0.8, 0.2, 0.7]], np.float32))
    assert list(zip(rows, columns, strict=True)) == [(0, 0)]


GERMAN = ["die katze saß auf der matte.", "das haus ist groß und rot.", "der hund saß", "rot"] * 8
ENGLISH = ["the cat sat on the mat.", "the house is big and red.", "the dog sat", "red"] * 8


def files(tmp_path: Path) -> list[str]:
    for name, lines in (("de", GERMAN), ("en", ENGLISH)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    common = ["--encoder", str(encoder_folders()[0]), "-l", "de-en"]
    return ["-s", str(tmp_path / "de"), "-t", str(tmp_path / "en"), *common]


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_fit_info_and_scoring(
    tmp_path: Path, unit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "de-en.remap"
    assert main(["remap", "fit", *files(tmp_path), "--unit", unit, "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["unit"] == unit
    assert main(["remap", "info", str(out)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["orthogonal_to"] < 1e-5
    assert (facts["lang"], facts["layer"], facts["sentences"]) == ("de-en", 2, 32)
    name = "xmoverscore" if unit == "word" else "cosine"
    spec = f"{name}:encoder={encoder_folders()[0]},lm=off"
    batch = Segments(ENGLISH[:3], GERMAN[:3], None, "de-en")
    plain = load_metric(spec).statistics(batch)
    moved = load_metric(f"{spec},remap={out}").statistics(batch)
    assert moved.mean() > plain.mean()
    with pytest.raises(ResourceError, match="the texts are fi-en"):
        load_metric(f"{spec},remap={out}").statistics(
            Segments(ENGLISH[:1], GERMAN[:1], None, "fi-en")
        )
    with pytest.raises(ResourceError, match="layer 2"):
        load_metric(f"{spec},remap={out},layer=1").statistics(batch)


def test_a_lexicon_says_which_words_belong_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lexicon = tmp_path / "lexicon.txt"
    lexicon.write_text("katze cat\nrot\tred\n", "utf-8")
    arguments = ["remap", "fit", *files(tmp_path), "--out", str(tmp_path / "x.remap")]
    assert main([*arguments, "--lexicon", str(lexicon)]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 8 + 2 * 8
    lexicon.write_text("katze cat cats\n", "utf-8")
    assert main([*arguments, "--lexicon", str(lexicon)]) == InputError.exit_code
    assert "line 1: 3 words" in capsys.readouterr().err
    both = [*arguments, "--lexicon", str(lexicon), "--unit", "sentence"]
    assert main(both) == UsageError.exit_code


def test_fast_align_links_words_that_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [
        (g.strip(".").split(), e.strip(".").split()) for g, e in zip(GERMAN, ENGLISH, strict=True)
    ]
    found = align.linked(texts)
    pairs = {
        (texts[k][0][i], texts[k][1][j]) for k in range(4) for i, j in zip(*found[k], strict=True)
    }
    assert {("katze", "cat"), ("hund", "dog"), ("rot", "red")} <= pairs
    assert not {("hund", "cat"), ("katze", "dog"), ("rot", "house")} & pairs
    out = tmp_path / "x.remap"
    arguments = ["remap", "fit", *files(tmp_path), "--out", str(out), "--align", "fast_align"]
    assert main(arguments) == 0
    assert load(out).facts.aligned == "fast_align"
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    assert main(arguments) == ResourceError.exit_code
    assert "mtgauge[align]" in capsys.readouterr().err


def test_files_of_different_length_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = files(tmp_path)
    (tmp_path / "en").write_text("one line\n", "utf-8")
    assert main(["remap", "fit", *arguments, "--out", str(tmp_path / "x")]) == InputError.exit_code
    assert "line 2: 1 lines" in capsys.readouterr().err


def test_curve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtgauge.encode.remap.fitting.HELD_OUT", 8)
    monkeypatch.setattr("mtgauge.encode.remap.fitting.SIZES", (4, 20))
    judged = tmp_path / "judged.tsv"
    head = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman\n"
    texts = ["the cat sat on the mat.", "the house is big.", "the dog sat", "red"]
    columns = zip(GERMAN, ENGLISH, texts, (0, 1, 2, 0), strict=False)
    lines = [f"de-en\ta\t{i}\t{s}\t{r}\t{t}\t{h}\n" for i, (s, r, t, h) in enumerate(columns)]
    judged.write_text(head + "".join(lines), "utf-8")
    picture = tmp_path / "figures"
    more = ["--judged", str(judged), "--plot", str(picture)]
    arguments = ["remap", "curve", *files(tmp_path), "--out", str(tmp_path / "curve"), *more]
    assert main(arguments) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][2:] == ["found_before", "found_after", "retrieved", "pearson"]
    assert [row[0] for row in rows] == ["sentences", "4", "20"]
    spec = f"xmoverscore:preset=paper2020,layer=2,lm=off,encoder='{encoder_folders()[0]}'"
    spec += f",remap='{tmp_path / 'curve' / '20.remap'}'"
    scores = [
        mtgauge.score({"a": [text]}, sources=[GERMAN[i]], metrics=[spec], lang="de-en")[spec][
            "a"
        ].score
        for i, text in enumerate(texts)
    ]
    assert float(rows[2][5]) == pytest.approx(np.corrcoef(scores, [0, 1, 2, 0])[0, 1], abs=1e-3)
    assert (picture / "curve.de-en.png").read_bytes().startswith(b"\x89PNG")
    assert all(0 <= float(x) <= 1 for row in rows[1:] for x in row[2:5])
    assert load(tmp_path / "curve" / "20.remap").facts.sentences == 20
