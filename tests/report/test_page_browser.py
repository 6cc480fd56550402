"""The report in a real browser: no fault, segments are found, sorted, filtered and explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mtgauge
from chromium import browser, faults, shoot
from hostile import HOSTILE
from mtgauge.data.output import write
from mtgauge.engine.demo import demo
from mtgauge.engine.flags import Flag, Flags
from mtgauge.report.page import render
from mtgauge.report.writers import visible

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def address(folder):
    """The demo's report, with surface metrics and one that moves words."""
    path = folder / "demo.html"
    write(path, render(demo(("chrf", "std", "kobe"))))
    return path.as_uri()


@pytest.fixture(scope="module")
def driver(folder):
    with browser(folder) as found:
        yield found


def wait(driver, script, *arguments):
    """Until the script returns something true, which is returned."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 20).until(lambda d: d.execute_script(script, *arguments))


def opened(driver, address):
    driver.get("about:blank")
    driver.get(address)
    driver.execute_script("document.getElementById('segments').scrollIntoView()")
    wait(driver, "return document.documentElement.dataset.ready === 'yes'")
    return driver


def press(driver, element):
    """Click, wherever the page has scrolled to."""
    driver.execute_script("arguments[0].click()", element)


def numbers(driver):
    """The segments that are shown, in order."""
    titles = driver.find_elements("css selector", ".segment h3")
    return [int(title.text.removeprefix("Segment ")) for title in titles]


def status(driver):
    return driver.find_element("css selector", ".status").text


def choose(driver, label, text):
    """Choose an option of the select with this label in the controls."""
    driver.execute_script(
        "const label = [...document.querySelectorAll('.controls label')]"
        ".find((l) => l.firstChild.textContent === arguments[0]);"
        "const select = label.querySelector('select');"
        "select.value = [...select.options].find((o) => o.text === arguments[1]).value;"
        "select.dispatchEvent(new Event('change'))",
        label,
        text,
    )


def test_the_page_opens_without_a_fault(driver, address) -> None:
    opened(driver, address)
    assert driver.title == "literal v careful v rough, de-en"
    assert driver.find_element("css selector", "h2").text == "careful is the best system."
    assert status(driver) == "20 segments"
    assert len(numbers(driver)) == 10
    assert faults(driver) == []
    shoot(driver, "report-segments")


def test_segments_are_not_unpacked_before_they_are_near(driver, address) -> None:
    driver.get("about:blank")
    driver.set_window_size(1280, 300)
    driver.get(address)
    assert driver.find_elements("css selector", ".segment") == []
    opened(driver, address)
    driver.set_window_size(1280, 900)


def test_text_and_warnings_filter(driver, address) -> None:
    opened(driver, address)
    search = driver.find_element("id", "search")
    search.send_keys("HAMBURG")
    assert status(driver) == "1 of 20 segments"
    assert numbers(driver) == [2]
    search.clear()
    search.send_keys("#10")
    assert numbers(driver) == [10]
    search.clear()
    search.send_keys("?!")
    assert status(driver) == "0 of 20 segments"
    driver.execute_script(
        "arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))", search
    )
    press(driver, driver.find_element("css selector", ".controls summary"))
    ticks = {e.text: e for e in driver.find_elements("css selector", ".controls .tick")}
    press(driver, ticks["lost numbers"])
    assert 10 in numbers(driver)
    chips = [e.text for e in driver.find_elements("css selector", ".segment .chip")]
    assert any("rough: lost numbers: 12 is missing" in chip for chip in chips)
    marks = [e.text for e in driver.find_elements("css selector", "mark.flag")]
    assert "12" in marks
    assert faults(driver) == []


def test_differences_are_marked(driver, address) -> None:
    opened(driver, address)
    driver.find_element("id", "search").send_keys("#6")
    marks = driver.find_elements("css selector", ".lines mark")
    told = {(mark.text, mark.get_attribute("title")) for mark in marks}
    assert ("checked", "for: reviewed") in told  # by careful
    assert ("‸", "missing: reviewed") in told  # by rough


def test_orders(driver, address) -> None:
    opened(driver, address)
    choose(driver, "Order", "order of the test set")
    assert numbers(driver) == list(range(1, 11))
    press(driver, driver.find_elements("css selector", ".pager button")[1])
    assert numbers(driver) == list(range(11, 21))
    choose(driver, "System", "rough")
    choose(driver, "Metric", "chrf")
    choose(driver, "Order", "lowest score first")
    scores = [
        e.text.split() for e in driver.find_elements("css selector", ".lines .score") if e.text
    ][2::3]
    assert {name for _, name in scores} == {"chrf"}
    scores = [float(score) for score, _ in scores]
    assert scores == sorted(scores)
    choose(driver, "Order", "longest first")
    words = [e.text for e in driver.find_elements("css selector", ".segment header span")]
    lengths = [int(text.split()[0]) for text in words if text.endswith("words")]
    assert lengths == sorted(lengths, reverse=True)


def test_an_explanation_opens_by_keyboard(driver, address) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(driver, address)
    button = driver.find_element("css selector", ".segment header button")
    button.send_keys(Keys.ENTER)
    wait(driver, "return document.querySelector('.explain .arcs path') !== null")
    assert button.get_attribute("aria-expanded") == "true"
    panel = driver.find_element("css selector", ".explain")
    assert "What cost most" in panel.text
    words = [e.text for e in panel.find_elements("css selector", ".arcs text")]
    assert "translation" in words
    shoot(driver, "report-explained")
    press(driver, panel.find_elements("css selector", "button")[1])
    assert panel.find_elements("css selector", ".heat rect")
    button.send_keys(Keys.ENTER)
    assert not panel.is_displayed()
    assert faults(driver) == []


def test_a_segment_without_an_explanation_shows_its_edits(driver, address) -> None:
    opened(driver, address)
    explained = driver.execute_script(
        "return JSON.parse(document.getElementById('facts').textContent).explained"
    )
    other = next(k for k in range(20) if k not in explained)
    driver.find_element("id", "search").send_keys(f"#{other + 1}")
    press(driver, driver.find_element("css selector", ".segment header button"))
    text = wait(driver, "return document.querySelector('.explain').innerText")
    assert "Word edits against the reference" in text
    assert f"--segment {other + 1}" in text


def test_phrases_and_groups_can_be_clicked(driver, address) -> None:
    opened(driver, address)
    phrase = driver.find_element("css selector", "button.phrase")
    press(driver, phrase)
    wait(driver, "return document.querySelector('.status').textContent.includes(' of ')")
    assert driver.find_element("id", "search").get_attribute("value") == phrase.get_attribute(
        "data-find"
    )
    select = driver.find_element("css selector", "select[data-group]")
    driver.execute_script(
        "arguments[0].value = '1'; arguments[0].dispatchEvent(new Event('change'))", select
    )
    shown = driver.execute_script(
        "return [...document.querySelectorAll('[data-of^=\"0.\"]')]"
        ".filter((t) => !t.hidden).map((t) => t.dataset.of)"
    )
    assert shown == ["0.1"]


def test_two_metrics_are_drawn(driver, address) -> None:
    opened(driver, address)
    label = driver.find_element("css selector", "canvas").get_attribute("aria-label")
    assert "r = " in label
    drawn = driver.execute_script(
        "const c = document.querySelector('canvas');"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((x) => x > 0)"
    )
    assert drawn


def test_a_link_to_a_segment(driver, address) -> None:
    driver.get("about:blank")
    driver.get(f"{address}#segment-7")
    wait(driver, "return document.querySelectorAll('.segment').length === 1")
    assert numbers(driver) == [7]


@pytest.mark.parametrize(("name", "width", "dark"), [("phone", 390, False), ("dark", 1280, True)])
def test_nothing_sticks_out(folder, address, name: str, width: int, dark: bool) -> None:
    with browser(folder, width=width, height=844, dark=dark) as found:
        opened(found, address)
        wide = found.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
        colour = found.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (colour == "rgb(18, 23, 29)") == dark
        found.execute_script("scrollTo(0, 0)")
        shoot(found, f"report-{name}")
        assert faults(found) == []


def test_hostile_strings_are_shown_as_text(folder, driver) -> None:
    texts = list(HOSTILE)
    result = mtgauge.score(
        dict.fromkeys(texts[:4], texts), texts, texts[::-1], metrics=["chrf"], lang="de-en",
        by={texts[4]: texts}, ci=False,
    )  # fmt: skip
    flags: dict[str, list[Flags]] = {n: [(Flag("copy", t),) for t in texts] for n in texts[:4]}
    path = folder / "hostile.html"
    write(path, render(replace(result, flags=flags), title=texts[1]))
    opened(driver, path.as_uri())
    choose(driver, "Order", "order of the test set")
    seen = ""
    for _ in range(4):
        for button in driver.find_elements("css selector", ".segment header button"):
            press(driver, button)
        seen += driver.find_element("id", "browser").text
        driver.execute_script("document.querySelectorAll('.pager button')[1].click()")
    for text in texts:
        shown = " ".join(visible(text).split())
        assert shown in " ".join(seen.split())
    strange = driver.execute_script(
        "return document.querySelectorAll('img, evil, iframe, [onload], [onerror], [onmouseover]')"
        ".length"
    )
    assert strange == 0
    assert driver.execute_script("return document.scripts.length") == 4
    assert faults(driver) == []
