"""The report: every part of it, forty hostile strings as text, its size, its policy."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import mtgauge
from hostile import HOSTILE
from mtgauge.engine.flags import Flag, Flags
from mtgauge.engine.inside import looked_into
from mtgauge.engine.verdict import verdict
from mtgauge.metric import Explanation, Finding, Link
from mtgauge.report.page import POLICY, groups, packed, render, scores, sections
from mtgauge.report.page.dom import el, html
from mtgauge.report.writers import visible

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Reader(HTMLParser):
    """Elements, their attributes and all text; every element must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: dict[str, str] = {}
        self.open: list[str] = []
        self._id = ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._id = dict(attributes).get("id", "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[self._id] = data
        elif not self.open or self.open[-1] != "style":
            self.texts.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def unpacked(text: str):
    return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def result():
    n = 12
    references = [f"the {'very ' * k}old house number {100 + k} is red" for k in range(n)]
    systems = {
        "old": [text.replace("house", "hut").replace("is", "was") for text in references],
        "new": [*references[:-1], ""],
        "other": [text.replace("red", "blue") for text in references],
    }
    sources = [f"das {'sehr ' * k}alte Haus Nummer {100 + k} ist rot" for k in range(n)]
    found = mtgauge.score(
        systems, sources, references, metrics=["chrf", "ter"], lang="de-en",
        by={"topic": ["x", "y"] * 6},
    )  # fmt: skip
    return looked_into(found, 2)


@pytest.fixture(scope="module")
def page(result) -> str:
    return render(result)


def test_the_page_is_whole(page: str) -> None:
    reader = read(page)
    ids = [a["id"] for _, a in reader.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for place in ("scores", "tests", "groups", "segments", "spread", "pairs", "metrics", "making"):
        assert place in ids
    links = [a["href"] for tag, a in reader.tags if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    named = [a["aria-labelledby"] for _, a in reader.tags if "aria-labelledby" in a]
    assert set(named) <= set(ids)


def test_nothing_is_fetched_from_elsewhere(page: str) -> None:
    for tag, attributes in read(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert "src" not in attributes
        assert "style" not in attributes, "the policy forbids it"
        assert not any(key.startswith("on") for key in attributes)
        assert attributes.get("href", "#").startswith("#")
    addresses = set(re.findall(r"https?://[^\s\"']+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a language, never fetched


def test_the_policy_names_what_is_in_the_page(page: str) -> None:
    import hashlib

    (content,) = [a["content"] for t, a in read(page).tags if a.get("http-equiv")]
    assert content == POLICY
    assert "default-src 'none'" in content
    assert "unsafe" not in content
    for kind, body in (("style", r"<style>(.*?)</style>"), ("script", r"<script>(.*?)</script>")):
        (text,) = re.findall(body, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in content


def test_no_text_becomes_markup(page: str) -> None:
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    for risky in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert risky not in script


def test_the_parts_say_what_they_should(result, page: str) -> None:
    text = " ".join(read(page).texts)
    assert verdict(result).headline in text
    for metric in result.values():
        assert metric.signature.short in text
        assert metric.trust.sentence("de-en") in text
    assert "By topic" in text
    assert "Phrases: new against old" in text
    assert "2 of 12 segments have an explanation" in text
    assert "Signatures in full" in text


def test_scores_have_text_beside_the_picture(result) -> None:
    text = html(scores.section(result))
    for name in result.systems:
        assert f"{result['chrf'][name].score:.2f}" in text
    assert text.count("<circle") == 6
    assert text.count('class="whisker') == 3 * 6


def test_the_matrix_has_two_sides(result) -> None:
    text = html(scores.tests(result))
    assert text.count('class="better"') == text.count('class="worse"') > 0
    assert 'aria-label="no sure difference"' in text
    untested = mtgauge.score({"a": ["x"], "b": ["y"]}, references=["x"], metrics=["chrf"])
    assert "1 segment is too few" in html(scores.tests(untested))
    one = mtgauge.score(["x"], references=["x"], metrics=["chrf"])
    assert scores.tests(one) is None


def test_histograms_count_every_segment(result) -> None:
    text = html(scores.distributions(result))
    assert text.count('class="median"') == 6
    every = mtgauge.score(["x", "y"], references=["x", "y"], metrics=["chrf"])
    assert "<rect" in html(scores.distributions(every))  # all scores the same


def test_groups_can_be_chosen_by_metric(result) -> None:
    reader = read(html(groups.section(result)))
    tables = [a for _, a in reader.tags if "data-of" in a]
    shown = [a["data-of"] for a in tables if "hidden" not in a]
    assert [a["data-of"] for a in tables] == ["0.0", "0.1", "1.0", "1.1", "2.0"]
    assert len(shown) == 3


def test_a_metric_that_cannot_serve_has_its_reason() -> None:
    result = mtgauge.score(["x y"], ["u v"], ["x y"], metrics=["chrf", "kobe"], lang="yo-en")
    text = " ".join(read(render(result)).texts)
    assert result["kobe"].unserved in text
    assert "kobe has no scores" in text


def test_a_result_without_texts_says_so(result) -> None:
    page = render(replace(result, texts=None, flags={}, slices=(), explained=()))
    reader = read(page)
    assert "The texts are not in this result" in " ".join(reader.texts)
    assert reader.scripts.get("packed-segments", "") == ""
    assert "groups" not in [a.get("id") for _, a in reader.tags]
    assert sections.scatter(replace(result, texts=None)) is None


def test_segments_unpack_to_what_went_in(result, page: str) -> None:
    data = unpacked(read(page).scripts["packed-segments"])
    texts = result.texts
    assert data["texts"][3] == [
        texts.sources[3], list(texts.references[3]), [rows[3] for rows in texts.systems.values()]
    ]  # fmt: skip
    assert data["columns"] == [texts.columns["topic"]]
    for m, metric in enumerate(result.values()):
        for s, name in enumerate(result.systems):
            parts = np.array(data["scores"][m][s], dtype=float) / packed.scale(metric)
            assert parts == pytest.approx(metric[name].segments, abs=0.6 / packed.scale(metric))
    assert [11, "empty", "there is no translation", "hypothesis", []] in data["flags"][1]
    facts = json.loads(read(page).scripts["facts"])
    assert facts["systems"] == ["old", "new", "other"]
    assert 11 in facts["person"] or facts["pair"][0] != 1


def test_explanations_keep_words_and_distances() -> None:
    found = packed._explanation(
        Explanation(
            "m", 0.5, ("a", "b"), ("c",), links=(Link(0, 0, 0.25, 1.23456),),
            matrix=np.array([[0.0], [2.0]]), findings=(Finding("lost", "c", "a", 0.5),),
            parts=(Explanation("inner", 1.0),),
        )
    )  # fmt: skip
    assert found["links"] == [[0, 0, 0.25, 1.23]]
    assert found["matrix"] == ["0", "f"]
    assert found["range"] == [0.0, 2.0]
    assert found["findings"] == [["lost", "c", "a", 0.5]]
    assert found["parts"][0]["metric"] == "inner"


def test_an_element_holds_text_only() -> None:
    made = el("p", {"title": '"<'}, "<b>", el("i", {}, "&"), ["x", None, 1.5])
    assert html(made) == '<p title="&quot;&lt;">&lt;b&gt;<i>&amp;</i>x1.5</p>'


def hostile_result():
    """Every string is a system, a sentence, a source, a reference, a value and a group."""
    systems = {text: list(HOSTILE) for text in HOSTILE}
    found = mtgauge.score(
        systems, list(HOSTILE), [*HOSTILE[1:], HOSTILE[0]], metrics=["chrf"], lang="de-en",
        by={HOSTILE[0]: list(HOSTILE), HOSTILE[4]: list(HOSTILE)}, ci=False,
    )  # fmt: skip
    flags: dict[str, list[Flags]] = {n: [(Flag("copy", t),) for t in HOSTILE] for n in HOSTILE}
    return replace(
        found, flags=flags, warnings=tuple(HOSTILE), lang="de-en",
        files={"systems": dict(zip(HOSTILE, HOSTILE, strict=True)), "source": HOSTILE[0],
               "references": list(HOSTILE)},
    )  # fmt: skip


def test_hostile_strings_come_out_as_text() -> None:
    result = hostile_result()
    page = render(result, title=HOSTILE[1])
    reader = read(page)
    usual = read(render(replace(result, flags={"x": []}, texts=None))).tags
    known = {tag for tag, _ in usual} | {"button", "select", "option", "label", "code", "noscript"}
    assert {tag for tag, _ in reader.tags} <= known | {"canvas"}
    assert not any(key.startswith("on") for _, a in reader.tags for key in a)
    assert page.count("<script") == 4
    assert page.count("</script") == 4
    text = "\n".join(reader.texts)
    for name in HOSTILE:
        assert visible(name).strip() in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    facts = json.loads(reader.scripts["facts"])
    assert facts["systems"] == [visible(name) for name in HOSTILE]
    assert unpacked(reader.scripts["packed-segments"])["texts"][0][0] == HOSTILE[0]
    for spelled in ("<", ">", "&"):
        assert spelled not in reader.scripts["facts"]


def test_hostile_strings_in_a_notebook() -> None:
    result = hostile_result()
    reader = read(result._repr_html_())
    assert {tag for tag, _ in reader.tags} <= set(
        "div table caption thead tbody tr th td small p".split()
    )
    compared = read(mtgauge.compare(result, HOSTILE[0], HOSTILE[2])._repr_html_())
    assert {tag for tag, _ in compared.tags} <= set("div p b table caption tr th td".split())
    assert visible(HOSTILE[0]) in "\n".join(compared.texts)


def test_three_systems_of_three_thousand_segments_stay_small() -> None:
    """Below 2 MB, with words that compress worse than language and eight metrics' scores."""
    rng = random.Random(7)
    letters = "etaoinshrdlucmfwyp"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(8000)]

    def sentence() -> list[str]:
        return rng.choices(words, k=rng.randint(8, 36))

    def changed(text: list[str]) -> str:
        return " ".join(w if rng.random() < 0.7 else rng.choice(words) for w in text)

    references = [sentence() for _ in range(3000)]
    systems = {name: [changed(text) for text in references] for name in ("a", "b", "c")}
    few = mtgauge.score(
        systems, [" ".join(sentence()) for _ in references], [" ".join(r) for r in references],
        metrics=["chrf"], ci=False,
    )  # fmt: skip
    noise = np.random.default_rng(7)
    metrics = {}
    for k in range(8):
        spread = {
            name: replace(few["chrf"][name], segments=noise.normal(50, 20, 3000), score=50.0)
            for name in systems
        }
        metrics[f"m{k}"] = replace(few["chrf"], spec=f"m{k}", systems=spread)
    result = replace(few, metrics=metrics, slices=())
    explained = looked_into(few, 30).explained
    matrix = noise.random((25, 25))
    one = replace(
        explained[0].explanation,
        left=tuple(references[0]), right=tuple(references[0]), matrix=matrix,
        links=tuple(Link(k % 8, k % 7, 0.04, 0.3 + k / 100) for k in range(25)),
    )  # fmt: skip
    many = [replace(each, spec=spec, explanation=one) for each in explained for spec in result]
    page = render(replace(result, flags={"a": [()] * 3000}, explained=tuple(many)))
    assert len(page.encode()) < 2_000_000
