"""The door: hosts, tokens, other sites, sizes, headers."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from mtgauge.errors import UsageError
from mtgauge.serve.app import create
from mtgauge.serve.settings import Limits, ServerSettings
from web_server import HOME, server

TOKEN = "correct horse battery"
TEXTS = {"hypotheses": ["x"], "references": ["x"], "metrics": ["chrf"]}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that others can reach."""
    settings = ServerSettings(
        tmp_path_factory.mktemp("state"), "0.0.0.0", TOKEN, names=("Quality.Example.org",)
    )
    with TestClient(create(settings), base_url="http://10.0.0.7:8765") as opened:
        yield opened


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200), ("127.0.0.1:8765", 200), ("localhost:1", 200), ("[::1]:8765", 200),
        ("LOCALHOST.", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421),
        ("evil.example:8765", 421), ("", 421), ("10.0.0.7", 421), ("localhost@evil.example", 421),
    ],
)  # fmt: skip
def test_a_local_server_answers_to_its_own_names(client, host, status):
    assert client.get("/runs", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("host", "status"),
    [("10.0.0.7:8765", 200), ("quality.example.org", 200), ("evil.example", 421)],
)
def test_a_server_for_others_answers_to_addresses_and_given_names(guarded, host, status):
    headers = {"host": host, "authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/runs", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": HOME}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_requests_from_other_sites_change_nothing(client, headers, status):
    assert client.post("/score", json=TEXTS, headers=headers).status_code == status
    other = client.delete("/runs/" + "A" * 16, headers=headers).status_code
    assert other == (404 if status == 200 else 403)


def test_every_address_but_the_door_needs_the_token(guarded):
    for path in ("/", "/runs", "/docs", "/openapi.json", "/metrics", "/run/x", "/nothing"):
        answer = guarded.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.post("/score", json=TEXTS).status_code == 401
    for wrong in ("Bearer wrong", f"Basic {TOKEN}", "Bearer ", f"Bearer {TOKEN}x", "Bearer ä"):
        headers = {"authorization": wrong.encode()}
        assert guarded.get("/runs", headers=headers).status_code == 401
    right = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.post("/score", json=TEXTS, headers=right).status_code == 200
    assert guarded.get("/static/style.css").status_code == 200


def test_people_give_the_token_on_a_page(guarded):
    to = guarded.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert (to.status_code, to.headers["location"]) == (303, "/login")
    assert "token" in guarded.get("/login").text
    wrong = guarded.post("/login", data={"token": "wrong"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    right = guarded.post("/login", data={"token": TOKEN}, follow_redirects=False)
    cookie = right.headers["set-cookie"]
    assert right.status_code == 303
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/runs").status_code == 200  # the client keeps the cookie
    guarded.cookies.clear()
    for bad in ("mtgauge_session=0", "mtgauge_session=", "=;;,"):
        assert guarded.get("/runs", headers={"cookie": bad}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/runs", "/docs", "/static/home.js", "/login", "/nothing"])
def test_nothing_is_loaded_from_elsewhere(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_refusals_have_the_same_headers(client):
    answer = client.get("/", headers={"host": "evil.example"})
    assert "content-security-policy" in answer.headers


def test_a_large_body_is_refused_with_and_without_its_length(client):
    body = b"x" * ((1 << 20) + 1)
    stated = client.post("/score", content=body)
    assert (stated.status_code, "larger than 1 MB" in stated.text) == (413, True)

    def pieces():
        for _ in range(20):
            yield b"x" * (1 << 16)

    headers = {"content-type": "application/json"}
    counted = client.post("/score", content=pieces(), headers=headers)
    assert (counted.status_code, "larger than 1 MB" in counted.text) == (413, True)
    form = {"content-type": "multipart/form-data; boundary=b"}
    assert client.post("/runs", content=pieces(), headers=form).status_code in (400, 413)
    assert client.post("/inspect", files={"file": ("a.txt", body)}).status_code == 413
    bad = client.post("/score", content=b"{}", headers={"content-length": "-1"})
    assert bad.status_code == 400


def test_wrong_settings_are_refused(tmp_path):
    with pytest.raises(UsageError, match="give --token"):
        create(ServerSettings(tmp_path, "0.0.0.0"))
    with pytest.raises(UsageError, match="at least 12"):
        create(ServerSettings(tmp_path, "0.0.0.0", "short"))
    with pytest.raises(UsageError, match=r"limit on waiting runs .* is 1 or more"):
        Limits(waiting=0)
    assert ServerSettings(tmp_path, "127.0.0.2").is_local
    assert not ServerSettings(tmp_path, "example.org").is_local


def test_only_metrics_on_offer_can_be_asked_for(tmp_path):
    settings = ServerSettings(tmp_path, metrics=("chrf", "bleu:smooth=floor"))
    with TestClient(create(settings), base_url=HOME) as client:
        assert [m["spec"] for m in client.get("/metrics").json()] == ["chrf", "bleu:smooth=floor"]
        for spec, status in {"chrf:beta=3": 200, "bleu:smooth=floor": 200, "bleu": 400}.items():
            asked = {**TEXTS, "metrics": [spec]}
            assert client.post("/score", json=asked).status_code == status, spec


def test_a_folder_has_one_server(tmp_path):
    with (
        server(tmp_path),
        pytest.raises(UsageError, match="Another server keeps"),
        server(tmp_path),
    ):
        pass
