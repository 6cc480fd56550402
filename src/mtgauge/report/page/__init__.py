"""One result as one HTML page: no network, no fonts, no framework; `mtgauge report` writes it.

    render(result)       the page as text; texts, warnings and explanations as far as it has them
    POLICY               its Content-Security-Policy, for a server that sends it

Everything that can be read without a script (verdict, scores, tests, groups, metrics) is made here
as HTML. Segments and explanations lie in the page as compressed JSON, which page.js unpacks when
they are wanted. What comes from outside is text: elements are made by `dom.el`, JSON is escaped,
the script writes `textContent` only, and the policy lets no other script run.
"""

from __future__ import annotations

import base64
import hashlib
import html as escaping
from importlib import resources
from string import Template

from mtgauge.engine.inside import looked_into
from mtgauge.engine.result import Result
from mtgauge.engine.verdict import verdict
from mtgauge.report.page import groups, packed, scores, sections
from mtgauge.report.page.dom import el, html
from mtgauge.report.writers import visible


def _asset(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_STYLE, _SCRIPT, _TEMPLATE = _asset("page.css"), _asset("page.js"), _asset("template.html")
POLICY = (
    f"default-src 'none'; script-src '{_digest(_SCRIPT)}'; style-src '{_digest(_STYLE)}'; "
    "base-uri 'none'; form-action 'none'"
)


def render(result: Result, *, title: str | None = None) -> str:
    """The page of a result.

    A result with texts that was not looked into yet is now: warnings, and explanations of as many
    segments as `engine.inside.how_many` says.
    """
    if result.texts is not None and not result.flags:
        result = looked_into(result)
    said = verdict(result)
    head = title or sections.title(result)
    body = [
        el("a", {"class": "skip", "href": "#main"}, "Skip to the verdict"),
        sections.header(result, head),
        el(
            "main",
            {"id": "main"},
            sections.verdict(said, result),
            scores.section(result),
            scores.tests(result),
            groups.section(result),
            sections.segments(result),
            scores.distributions(result),
            sections.scatter(result),
            sections.metrics(result),
            sections.making(result),
        ),
        sections.footer(),
    ]
    return Template(_TEMPLATE).substitute(
        policy=POLICY,
        title=escaping.escape(visible(head)),
        style=_STYLE,
        script=_SCRIPT,
        body="\n".join(map(html, body)),
        facts=packed.facts(result, said),
        segments=packed.segments(result),
        explanations=packed.explanations(result),
    )
