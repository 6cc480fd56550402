"""The other maps: least squares and RCSLS, grow-diag-final-and, and the authors' text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.encode import load_encoder
from mtgauge.encode.remap import align
from mtgauge.encode.remap.maps import RemapFacts, find_remap, fit, load, procrustes
from mtgauge.encode.remap.rcsls import loss, rcsls
from mtgauge.errors import LanguageError, ResourceError, UsageError
from tiny_models import encoder_folders

RNG = np.random.default_rng(8)
Links = set[tuple[int, int]]


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_linear_solves_the_normal_equations() -> None:
    x, z = RNG.normal(size=(60, 5)), RNG.normal(size=(60, 5))
    w = fit(x, z, RemapFacts("linear")).projection
    assert w is not None
    np.testing.assert_allclose(w, np.linalg.solve(x.T @ x, x.T @ z), atol=1e-5)
    orthogonal = fit(x, z, RemapFacts("clp")).projection
    assert np.linalg.norm(x @ w - z) < np.linalg.norm(x @ orthogonal - z)


def slow_loss(x: np.ndarray, z: np.ndarray, w: np.ndarray, k: int) -> float:
    """RCSLS as the formula has it, pair by pair."""
    total, moved = 0.0, x @ w
    for i in range(len(x)):
        near_z = np.argsort(-(z @ moved[i]))[:k]
        near_x = np.argsort(-(unit(moved) @ z[i]))[:k]
        total += -2 * moved[i] @ z[i]
        total += np.mean([moved[i] @ z[j] for j in near_z])
        total += np.mean([moved[j] @ z[i] for j in near_x])
    return total / len(x)


def test_rcsls_descends_the_loss_of_the_paper() -> None:
    x = unit(RNG.normal(size=(80, 6)))
    z = unit(x @ RNG.normal(size=(6, 6)) + 0.3 * RNG.normal(size=(80, 6)))
    start, end = procrustes(x, z), rcsls(x, z, neighbours=5)
    assert loss(x, z, start, 5)[0] == pytest.approx(slow_loss(x, z, start, 5), abs=1e-9)
    assert slow_loss(x, z, end, 5) < slow_loss(x, z, start, 5)
    slope = loss(x, z, start, 5)[1]
    step = np.zeros_like(start)
    step[2, 3] = 1e-7  # small enough that no neighbour changes
    by_hand = (slow_loss(x, z, start + step, 5) - slow_loss(x, z, start - step, 5)) / 2e-7
    assert slope[2, 3] == pytest.approx(by_hand, abs=1e-5)


def test_rcsls_finds_every_partner_of_a_rotated_space() -> None:
    x = unit(RNG.normal(size=(50, 8)))
    q = np.linalg.qr(RNG.normal(size=(8, 8)))[0]
    w = fit(x, x @ q, RemapFacts("rcsls")).projection
    assert w is not None
    nearest = (unit(x @ w) @ (x @ q).T).argmax(axis=1)
    assert (nearest == np.arange(50)).all()


def left_out(found: Links, links: Links) -> list[tuple[int, int]]:
    """Links that grow-diag-final-and (Koehn et al. 2005) must not leave, in whatever order it goes.

    One that touches a found link, if either word is free; one of which both words are free.
    """
    rows, columns = {i for i, _ in found}, {j for _, j in found}
    left = []
    for i, j in sorted(links - found):
        touches = any((i + a, j + b) in found for a in (-1, 0, 1) for b in (-1, 0, 1))
        free = (i not in rows, j not in columns)
        if all(free) or (touches and any(free)):
            left.append((i, j))
    return left


GERMAN = ["die katze saß auf der matte", "das haus ist groß und rot", "der hund saß da", "rot"] * 6
ENGLISH = ["the cat sat on a mat", "the house is really big and red", "the dog sat", "red"] * 6


def test_grow_diag_final_and_is_koehns() -> None:
    pytest.importorskip("thot.alignment")
    from thot.alignment import FastAlignModel

    pairs = [(g.split(), e.split()) for g, e in zip(GERMAN, ENGLISH, strict=True)]

    def one_way(sides: list[tuple[list[str], list[str]]]) -> list[Links]:
        model = FastAlignModel()
        for source, target in sides:
            model.add_sentence_pair(source, target)
        model.start_training()
        for _ in range(align.ROUNDS):
            model.train()
        model.end_training()
        best = (model.get_best_alignment(x, z)[1].to_numpy() for x, z in sides)
        return [{(int(i), int(j)) for i, j in np.argwhere(m)} for m in best]

    there, turned = one_way(pairs), one_way([(z, x) for x, z in pairs])
    back = [{(i, j) for j, i in links} for links in turned]
    found = align.linked(pairs, "grow-diag-final-and")
    both = align.linked(pairs)
    grown = 0
    for k in range(4):
        ours = {(int(i), int(j)) for i, j in zip(*found[k], strict=True)}
        fewer = {(int(i), int(j)) for i, j in zip(*both[k], strict=True)}
        assert fewer == there[k] & back[k]
        assert fewer <= ours <= there[k] | back[k]
        assert not left_out(ours, there[k] | back[k])
        grown += len(ours) - len(fewer)
    assert grown > 0, "the example must have links of one direction"


def test_the_authors_text_files_and_patterns(tmp_path: Path) -> None:
    w, v = np.linalg.qr(RNG.normal(size=(3, 3)))[0], np.array([0.6, 0.8, 0.0])
    np.savetxt(tmp_path / "europarl-v7.de-en.2k.12.BAM.map", w, fmt="%.6f")
    np.savetxt(tmp_path / "europarl-v7.de-en.2k.12.GBDD.map", np.stack([v, -v]), fmt="%.6f")
    clp = find_remap(str(tmp_path), "de-en")
    assert (clp.facts.method, clp.facts.lang, clp.facts.layer) == ("clp", "de-en", 12)
    np.testing.assert_allclose(np.asarray(clp.projection), w, atol=1e-6)
    umd = find_remap(str(tmp_path / "*.GBDD.map"), "de-en")
    np.testing.assert_allclose(np.asarray(umd.direction), v, atol=1e-6)
    with pytest.raises(LanguageError, match="no remap for fi-en"):
        find_remap(str(tmp_path / "*.GBDD.map"), "fi-en")
    broken = tmp_path / "x.BAM.map"
    broken.write_text("one two", "utf-8")
    with pytest.raises(ResourceError, match="not a matrix as text"):
        load(broken)


def test_several_methods_make_a_folder_each(tmp_path: Path) -> None:
    for name, lines in (("de", GERMAN), ("en", ENGLISH)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    texts = ["-s", str(tmp_path / "de"), "-t", str(tmp_path / "en"), "-l", "de-en"]
    out = tmp_path / "remaps"
    assert main(["remap", "fit", *texts, "--method", "clp", "umd", "--out", str(out)]) == 0
    assert find_remap(str(out / "clp"), "de-en").facts.method == "clp"
    assert find_remap(str(out / "umd"), "de-en").facts.method == "umd"


def test_symmetrise_goes_with_fast_align_only(tmp_path: Path) -> None:
    from mtgauge.encode.remap.fitting import RemapPlan

    with pytest.raises(UsageError, match="--align fast_align"):
        RemapPlan("de-en", symmetrise="grow-diag-final-and")


def test_remaps_are_fitted_on_sources_as_metrics_see_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder whose sources are turned: the last numbers of source vectors change sign."""
    encoder = load_encoder(str(encoder_folders()[0]))
    plain = align.word_pairs(encoder, 2, GERMAN, ENGLISH, "de-en", frozenset({("rot", "red")}))
    monkeypatch.setattr(encoder, "turned", 3)
    turned = align.word_pairs(encoder, 2, GERMAN, ENGLISH, "de-en", frozenset({("rot", "red")}))
    assert len(plain[0]) == 12
    np.testing.assert_array_equal(turned[0][:, :-3], plain[0][:, :-3])
    np.testing.assert_array_equal(turned[0][:, -3:], -plain[0][:, -3:])
    np.testing.assert_array_equal(turned[1], plain[1])
