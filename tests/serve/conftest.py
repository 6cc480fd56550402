"""One server for the tests of a file."""

from __future__ import annotations

import pytest

from web_server import server, submit, wait


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    limits = {"upload": 1 << 20, "segments": 100, "quick": 6}
    with server(tmp_path_factory.mktemp("state"), **limits) as opened:
        yield opened


@pytest.fixture(scope="module")
def finished(client):
    """A run that is done: its id."""
    run = submit(client, ["chrf", "ter"], title="<b>Räksmörgås</b>")
    assert wait(client, run)["state"] == "done"
    return run
