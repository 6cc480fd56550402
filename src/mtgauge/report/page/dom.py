"""Elements of a page: everything that is put into one is text, never markup.

    el("p", {"class": "note"}, "a < b ", el("b", {}, "c"))     an element with text and children
    part("scores", "Scores", ...)                              a section with its heading
    table("Scores", caption, heads, rows)                      a table that scrolls by itself
    html(element)                                              <p class="note">a &lt; b <b>c</b></p>

Elements are those of `xml.etree`; its own writer leaves < in attributes, so there is one here.
Control characters and direction marks are shown as `\\x1b` or `\\u202e`, as in all other outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from xml.etree.ElementTree import Element

from mtgauge.report.writers import visible

Child = Element | str | float | None | Iterable["Child"]
Attributes = Mapping[str, str | float | None]


def el(tag: str, attributes: Attributes | None = None, *children: Child) -> Element:
    """An element; None as an attribute or a child is left out."""
    made = Element(tag)
    for key, value in (attributes or {}).items():
        if value is not None:
            made.set(key, _text(value))
    _fill(made, children)
    return made


def part(id: str, title: str, *children: Child) -> Element:
    """A section of the page, with the heading that names it."""
    attributes = {"id": id, "aria-labelledby": f"{id}-title"}
    return el("section", attributes, el("h2", {"id": f"{id}-title"}, title), *children)


def table(
    label: str, caption: Element, heads: Child, rows: Child, kind: str | None = None,
    frame: Attributes | None = None,
) -> Element:  # fmt: skip
    """A table in a frame that scrolls by itself; `kind` is its class, `frame` of the frame."""
    usual: Attributes = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label}
    head, body = el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)
    return el("div", {**usual, **(frame or {})}, el("table", {"class": kind}, caption, head, body))


def _fill(parent: Element, children: Iterable[Child]) -> None:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Element):
            parent.append(child)
        elif isinstance(child, str | float | int):
            _add_text(parent, _text(child))
        else:
            _fill(parent, child)


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _text(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))


def html(element: Element) -> str:
    """The element as HTML."""
    return "".join(_written(element))


def _written(element: Element) -> Iterator[str]:
    attributes = (f' {key}="{escape(value)}"' for key, value in element.items())
    yield f"<{element.tag}{''.join(attributes)}>"
    yield escape(element.text or "", quote=False)
    for child in element:
        yield from _written(child)
        yield escape(child.tail or "", quote=False)
    yield f"</{element.tag}>"
