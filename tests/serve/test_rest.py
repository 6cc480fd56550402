"""The REST interface: every address, every limit, every refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mtgauge
from mtgauge.serve.state import PLACES
from office_files import TMX, XLIFF_2, sheet
from web_server import EXAMPLE, columns, submit, wait


def inspect(client, name, data):
    return client.post("/inspect", files={"file": (name, data)})


def run_with(client, files, **fields):
    return client.post("/runs", data=fields, files=[("file", item) for item in files])


def test_metrics_say_what_they_need_and_why_they_do_not_suit(client):
    every = {m["spec"]: m for m in client.get("/metrics").json()}
    assert {m["reason"] for m in every.values()} == {None}
    assert every["chrf"]["needs"] == ["reference"]
    assert every["xmoverscore"]["cost_in_words"].startswith("heavy")
    assert every["fluency"]["needs_in_words"] == "translation only"
    assert every["regressor"]["needs_in_words"] == "source or reference"
    mine = {m["spec"]: m["reason"] for m in client.get("/metrics?side=source").json()}
    assert mine["chrf"] == "Needs a reference."
    assert mine["kobe"] == "Needs the language pair."
    assert mine["xmoverscore"] is None
    pair = {m["spec"]: m for m in client.get("/metrics?side=source&lang=gn-en").json()}
    assert "gn" in pair["kobe"]["reason"]
    assert "was not trained on gn" in pair["xmoverscore"]["caution"]
    assert pair["xmoverscore"]["reason"] is None
    assert "regressor needs" in client.get("/metrics?side=").json()[15]["reason"]
    assert client.get("/metrics?side=both").status_code == 400
    assert "xx" in client.get("/metrics?lang=de-xx").json()["error"]


def test_a_few_texts_are_scored_at_once(client):
    asked: dict[str, Any] = {
        "hypotheses": {"a": ["A cat.", "x"], "b": ["The cat.", "y"]},
        "references": ["The cat.", ["x", "z"]],
        "metrics": ["chrf:beta=3"],
        "ci": False,
    }
    found = client.post("/score", json=asked).json()
    mine = mtgauge.score(**asked).to_dict()
    assert found["metrics"] == json.loads(json.dumps(mine["metrics"]))


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"hypotheses": ["x"] * 7}, 413, "7 translations are more than 6: submit a run"),
        ({"references": ["x", "y"]}, 422, "1 hypotheses but 2 entries in references"),
        ({"metrics": ["bleurt"]}, 400, "'bleurt' is not on offer"),
        ({"metrics": ["xmoverscore"]}, 400, "xmoverscore needs a source"),
        ({"metrics": ["bertscore:encoder=/etc"]}, 400, "only the server's owner may set it"),
        ({"metrics": ["chrf:beta=-1"]}, 400, "beta"),
        ({"metrics": []}, 400, "metrics is a list"),
        ({"lang": "german"}, 400, "'german' is not a language pair"),
        ({"path": "/etc/passwd"}, 422, "There is no field 'path'"),
        ({"hypotheses": [1]}, 422, "The field hypotheses has a wrong type: translations by system"),
    ],
)
def test_wrong_texts_are_refused_with_a_sentence(client, change, status, message):
    asked = {"hypotheses": ["x"], "references": ["x"], "metrics": ["chrf"], **change}
    answer = client.post("/score", json=asked)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "The body must be a JSON object with fields."),
        ("[1]", "The body must be a JSON object with fields."),
        ('{"hyp', "The body is no JSON: see character 1."),
        ("{}", "The field hypotheses is missing."),
    ],
)
def test_a_body_that_is_none_is_told_in_words(client, body, message):
    found = client.post("/score", content=body, headers={"Content-Type": "application/json"})
    assert (found.status_code, found.json()["error"]) == (422, message)


def test_inspecting_a_file_tells_its_columns(client):
    told = inspect(client, "de-en.tsv", EXAMPLE).json()
    assert (told["kind"], told["segments"]) == ("tsv", 20)
    roles = {column["name"]: column["role"] for column in told["columns"]}
    assert roles == {"source": "source", "reference": "reference"} | dict.fromkeys(
        ("literal", "careful", "rough"), "system"
    )
    assert told["columns"][0]["sample"].startswith("Die Bäckerei")


@pytest.mark.parametrize(
    ("name", "data", "kind", "roles"),
    [
        ("a.source.txt", "x\ny\n", "text", ["source"]),
        ("newstest-ref.en", "x\ny\n", "text", ["reference"]),
        ("online-B.en", "x\ny\n", "text", ["system"]),
        ("a.csv", 'source,"my, mt"\nx,y\nv,w\n', "csv", ["source", "system"]),
        ("a.jsonl", '{"src": "x", "references": ["y", "z"], "mt": "w"}\n' * 2, "jsonl",
         ["source", "reference", "system"]),
        ("a.xlsx", sheet([["id", "source", "mt"], ["1", "x", "y"], ["2", "v", "w"]]), "xlsx",
         [None, "source", "system"]),
        ("a.xlf", XLIFF_2, "xliff", ["source", "system"]),
        ("a.tmx", TMX, "tmx", ["source", "system"]),
    ],
)  # fmt: skip
def test_every_kind_of_file_is_known(client, name, data, kind, roles):
    told = inspect(client, name, data).json()
    assert (told["kind"], told["segments"]) == (kind, 2)
    assert [column["role"] for column in told["columns"]] == roles


@pytest.mark.parametrize(
    ("name", "data", "status", "message"),
    [
        ("a.txt", b"\xff\xfe", 422, "a.txt, line 1: the file is UTF-16"),
        ("a.txt", b"", 422, "a.txt: the file is empty"),
        ("a.tsv", b"a\tb\nc\n", 422, "a.tsv, line 2: 1 columns where the header has 2"),
        ("a.txt.gz", b"", 422, "unpack it first"),
        ("a.txt.zst", b"", 422, "unpack it first"),
        ("a.txt", b"x\n" * 101, 422, "a.txt has more than 100 translations"),
        ("a.xlsx", b"PK", 422, "a.xlsx: not a readable XLSX file"),
        ("../../../etc/passwd", b"x\ty\n" * 20, 422, "passwd: every line holds a tab"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name(client, name, data, status, message):
    answer = inspect(client, name, data)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text
    assert "/" not in answer.json()["error"].split(":")[0]


def test_a_form_without_a_file_is_refused(client):
    assert client.post("/inspect").json()["error"] == "No file was sent."
    text = client.post("/inspect", data={"file": "text"})
    assert (text.status_code, text.json()["error"]) == (422, "The field file holds no file.")


def test_a_run_gives_what_the_command_line_gives(client, finished):
    status = client.get(f"/runs/{finished}").json()
    assert status["summary"]["systems"] == ["literal", "careful", "rough"]
    assert (status["done"], status["total"]) == (20, 20)
    result = client.get(status["outputs"]["result.json"])
    assert "attachment" in result.headers["content-disposition"]
    named = columns()
    lists = {name: text.splitlines() for name, text in named.items()}
    mine = mtgauge.score(
        {name: lists[name] for name in ("literal", "careful", "rough")},
        lists["source"],
        lists["reference"],
        ["chrf", "ter"],
        "de-en",
    )
    theirs = {m["spec"]: m["systems"]["rough"]["score"] for m in result.json()["metrics"]}
    assert theirs == {spec: mine[spec]["rough"].score for spec in ("chrf", "ter")}
    table = client.get(status["outputs"]["scores.tsv"]).text.splitlines()
    assert table[0].startswith("metric\tsystem\tscore")
    assert len(table) == 1 + 2 * 3
    assert len(client.get(status["outputs"]["segments.tsv"]).text.splitlines()) == 1 + 2 * 3 * 20


def test_the_report_runs_in_a_place_of_its_own(client, finished):
    answer = client.get(f"/runs/{finished}/report.html")
    policy = answer.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert "&lt;b&gt;Räksmörgås" in answer.text
    assert "<b>Räksmörgås" not in answer.text
    kept = client.get(f"/runs/{finished}/report.html?download=true")
    assert kept.headers["content-disposition"].startswith("attachment")


def test_uploads_are_deleted_when_a_run_ends(client, finished):
    store = client.app.state.mtgauge.store
    place = store.place(store.get(finished))
    assert sorted(path.name for path in place.iterdir()) == sorted(
        ["result.json", "scores.tsv", "segments.tsv", "report.html", "run.json"]
    )
    assert all((path / "run.json").exists() for path in store.folder.iterdir())


def test_files_of_several_kinds_make_one_run(client):
    named = columns()
    rows = [list(row) for row in zip(*(named[c].splitlines() for c in ("careful", "rough")),
                                     strict=True)]  # fmt: skip
    files = [
        ("my source.txt", named["source"]),
        ("ref.txt", named["reference"]),
        ("systems: all.xlsx", sheet([["careful", "worse: rough"], *rows])),
    ]
    answer = run_with(
        client, files, source="my source.txt", reference="ref.txt", metric=["chrf"],
        translation=["systems: all.xlsx:careful", "systems: all.xlsx:worse: rough"],
        baseline="worse: rough",
    )  # fmt: skip
    status = wait(client, answer.json()["id"])
    assert status["error"] == ""
    assert status["summary"]["systems"] == ["careful", "worse: rough"]
    result = client.get(status["outputs"]["result.json"]).json()
    assert result["baseline"] == "worse: rough"
    assert result["files"]["source"] == "my source.txt"


@pytest.mark.parametrize(
    ("files", "fields", "status", "message"),
    [
        ([("a.txt", "x")], {}, 422, "Which file holds the translations"),
        ([("a.txt", "x")], {"translation": "b.txt"}, 422, "'b.txt' is none of the uploaded files"),
        ([("a.txt", "x")], {"translation": "/etc/passwd"}, 422, "none of the uploaded"),
        ([("a.txt", "x")], {"translation": "-"}, 422, "none of the uploaded"),
        ([("a.txt", "x")], {"translation": "a.txt", "metric": "nope"}, 400, "not on offer"),
        ([("a.txt", "x")], {"translation": "a.txt", "metric": "std:vectors=/x"}, 400, "owner"),
        ([("a.txt", "x")], {"translation": "a.txt", "lang": "de"}, 400, "not a language pair"),
        ([("a.txt", "x")], {"translation": "a.txt", "source": ["a.txt"] * 2}, 422, "given twice"),
        ([("a.txt", "x")], {"translation": "a.txt", "folder": "/"}, 400, "no field 'folder'"),
        ([("a.txt", "x"), ("x/a.txt", "y")], {"translation": "a.txt"}, 422, "Two files are called"),
        ([], {"translation": "a.txt"}, 422, "No file was sent"),
        ([("a.txt", "x")], {"translation": "a.txt", "unescape": "maybe"}, 422, "is on or off"),
    ],
)  # fmt: skip
def test_a_wrong_submission_is_refused_and_leaves_nothing(client, files, fields, status, message):
    store = client.app.state.mtgauge.store
    before = sorted(store.folder.iterdir())
    answer = run_with(client, files, **fields)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text
    assert sorted(store.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("files", "fields", "message"),
    [
        ([("a.txt", "x\ny\n"), ("r.txt", "x\n")], {"reference": "r.txt"}, "a.txt has 2"),
        ([("a.txt", "x\n"), ("r.tsv", "p\tq\n1\t2\n")], {"reference": "r.tsv:z"}, "no column 'z'"),
        ([("a.txt", "x\n" * 101)], {"reference": "a.txt"}, "same file|more than 100"),
        ([("a.txt", "x\n")], {"metric": "chrf"}, "chrf needs a reference"),
        ([("a.txt", "x\n")], {"baseline": "b", "metric": "fluency"}, "There is no system 'b'"),
        ([("a.txt", "x\n"), ("b.tsv", "a:..\tb\nx\ty\n")],
         {"reference": "b.tsv:a:../../../../etc/passwd.tsv:x"}, "no column 'a:../../../../etc"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_texts_is_told_by_the_run(client, files, fields, message):
    answer = run_with(client, files, translation="a.txt", **{"metric": "chrf", **fields})
    status = wait(client, answer.json()["id"])
    assert status["state"] == "failed"
    assert any(part in status["error"] for part in message.split("|")), status["error"]
    assert str(client.app.state.mtgauge.settings.state) not in status["error"]


def test_too_many_segments_are_refused(client):
    run = submit(client, times=2)  # 40 segments, 3 systems, 100 allowed
    assert "more than 100 translations" in wait(client, run)["error"]


def test_events_tell_a_run_to_its_end(client):
    run = submit(client)
    with client.stream("GET", f"/runs/{run}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        news = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert [one["state"] for one in news][-1] == "done"
    assert news[-1]["outputs"]["report.html"] == f"/runs/{run}/report.html"
    assert len({json.dumps(one) for one in news}) == len(news)


def test_runs_are_listed_newest_first_and_deleted(client):
    old, new = submit(client), submit(client)
    wait(client, new)
    listed = [run["id"] for run in client.get("/runs").json()]
    assert listed.index(new) < listed.index(old)
    store = client.app.state.mtgauge.store
    place = store.place(store.get(old))
    assert client.delete(f"/runs/{old}").status_code == 204
    assert not place.exists()
    assert client.get(f"/runs/{old}").status_code == 404
    assert client.delete(f"/runs/{old}").status_code == 404


@pytest.mark.parametrize("name", ["nothing", "..%2f..%2fetc", "A" * 16, "%00"])
def test_no_path_leads_out_of_the_folder(client, finished, name):
    assert client.get(f"/runs/{name}").status_code == 404
    assert client.get(f"/runs/{finished}/{name}").status_code == 404
    assert client.get(f"/run/{name}", headers={"accept": "text/html"}).status_code == 404
    assert client.get(f"/static/{name}").status_code == 404


def test_the_description_covers_every_address(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {
        "/metrics", "/score", "/inspect", "/runs", "/runs/{run_id}", "/runs/{run_id}/events",
        "/runs/{run_id}/cancel", "/runs/{run_id}/report.html", "/runs/{run_id}/{name}",
    }  # fmt: skip
    page = client.get("/docs").text
    assert all(path in page for path in paths)
    assert 'src="http' not in page
    assert 'href="http' not in page


def test_pages_show_names_as_text(client, finished):
    home, page = client.get("/").text, client.get(f"/run/{finished}").text
    for text in (home, page):
        assert "&lt;b&gt;Räksmörgås&lt;/b&gt;" in text
        assert "<b>Räksmörgås" not in text
        assert "<script>" not in text
        assert " style=" not in text
    lost = client.get("/run/" + "A" * 16, headers={"accept": "text/html"})
    assert lost.status_code == 404
    assert "There is no such run" in lost.text


def test_the_example_is_the_package_s_own(client):
    assert client.get("/example.tsv").content == EXAMPLE


def test_quick_requests_do_not_pile_up(client):
    places = client.app.state.mtgauge._places
    while places.acquire(blocking=False):
        pass
    try:
        answer = client.post("/inspect", files={"file": ("a.txt", "x")})
        assert answer.status_code == 503
        assert "busy" in answer.json()["error"]
    finally:
        for _ in range(PLACES):
            places.release()
    assert client.post("/inspect", files={"file": ("a.txt", "x")}).status_code == 200


def test_a_full_disk_is_told(client, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mtgauge.serve.uploads.shutil.copyfileobj", full)
    answer = client.post("/inspect", files={"file": ("a.txt", "x")})
    assert (answer.status_code, "No space left" in answer.text) == (507, True)


def test_titles_hide_nothing(client):
    run = submit(client, title="abc\u202ecba\x1b[31m")
    assert wait(client, run)["title"] == "abc\\u202ecba\\x1b[31m"
