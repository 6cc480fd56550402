"""The web application in a real browser: from dropped files to an explained segment."""

from __future__ import annotations

import pytest

from chromium import browser, faults, shoot
from web_server import columns, serving

DROP = """
const files = new DataTransfer();
for (const [name, text] of arguments[0]) files.items.add(new File([text], name));
const event = new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: files});
document.getElementById("drop").dispatchEvent(event);
"""
HOSTILE = "<img src=x onerror=document.title='hacked'>"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("state")) as (_, found):
        yield found


def until(driver, question, seconds=120):
    """What the script answers, once it is something."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds, 0.1).until(
        lambda d: d.execute_script(f"return {question}"), f"never: {question}"
    )


def one(driver, selector):
    return driver.find_element("css selector", selector)


def click(driver, selector):
    element = one(driver, selector)
    driver.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
    )
    element.click()


def test_from_dropped_files_to_an_explained_segment(address, tmp_path):
    texts = columns()
    with browser(tmp_path) as driver:
        driver.get(address)
        until(driver, "document.querySelectorAll('.metric').length > 20")
        driver.execute_script(
            DROP, [["careful.txt", texts["careful"]], ["ref.txt", texts["reference"]]]
        )
        until(driver, "document.querySelectorAll('.column select').length === 2")
        roles = [
            e.get_attribute("value") for e in driver.find_elements("css selector", ".column select")
        ]
        assert roles == ["system", "reference"]
        until(driver, "document.querySelector('.why:not([hidden])')")
        kobe = one(driver, "input[value=kobe]")
        assert not kobe.is_enabled()
        assert "Needs a source." in kobe.find_element("xpath", "..").text
        one(driver, "#from").send_keys("de")
        one(driver, "#to").send_keys("en")
        assert one(driver, "#to-name").text == "English"
        for box in driver.find_elements("css selector", ".metric input:checked"):
            if box.get_attribute("value") != "bleu":
                driver.execute_script("arguments[0].click()", box)
        click(driver, "input[value=bertscore]")
        shoot(driver, "serve-form")
        click(driver, "#start")
        until(driver, "document.body.dataset.run")
        shoot(driver, "serve-progress")
        until(driver, "document.querySelector('iframe.report') !== null")
        links = driver.find_elements("css selector", ".actions a")
        assert [link.text for link in links][:3] == ["HTML", "JSON", "TSV"]
        driver.switch_to.frame(one(driver, "iframe.report"))
        driver.execute_script("document.getElementById('segments').scrollIntoView()")
        until(driver, "document.querySelector('article.segment button') !== null")
        click(driver, "article.segment button")
        until(driver, "document.querySelector('.explain:not([hidden])').textContent.length > 50")
        driver.execute_script("document.querySelector('.explain:not([hidden])').scrollIntoView()")
        shoot(driver, "serve-explained")
        assert one(driver, "article.segment button").get_attribute("aria-expanded") == "true"
        driver.switch_to.default_content()
        assert faults(driver) == []
        driver.get(address)
        assert "careful" in one(driver, ".runs").text


def test_the_example_can_be_tried_at_once(address, tmp_path):
    with browser(tmp_path, width=1150, height=1400) as driver:
        driver.get(address)
        until(driver, "document.querySelectorAll('.metric').length > 20")
        click(driver, "#example")
        until(driver, "document.querySelectorAll('.column').length === 5")
        until(driver, "document.querySelector('input[value=kobe]').disabled === false")
        driver.execute_script("scrollTo({top: 0, behavior: 'instant'})")
        shoot(driver, "serve")
        click(driver, "details summary")
        one(driver, "#baseline").send_keys("careful")
        for name in ("bertscore", "regressor"):
            click(driver, f"input[value={name}]")
        click(driver, "#start")
        until(driver, "document.querySelector('iframe.report') !== null")
        driver.switch_to.frame(one(driver, "iframe.report"))
        assert "de-en" in one(driver, "body").text
        assert "careful baseline" in " ".join(one(driver, "body").text.split())
        driver.switch_to.default_content()
        shoot(driver, "serve-report")
        assert faults(driver) == []


def test_pasted_texts_by_keyboard_alone(address, tmp_path):
    from selenium.webdriver.common.keys import Keys

    with browser(tmp_path, dark=True) as driver:
        driver.get(address)
        until(driver, "document.querySelectorAll('.metric').length > 20")
        one(driver, "#tab-files").send_keys(Keys.ARROW_RIGHT)
        driver.switch_to.active_element.send_keys(Keys.TAB)  # from the tab into the panel
        driver.switch_to.active_element.send_keys("Ein Satz.")
        driver.switch_to.active_element.send_keys(Keys.TAB)
        driver.switch_to.active_element.send_keys("A sentence.")
        driver.switch_to.active_element.send_keys(Keys.TAB)
        driver.switch_to.active_element.send_keys(Keys.TAB)  # past the name of the system
        driver.switch_to.active_element.send_keys(HOSTILE, Keys.TAB)
        until(driver, "document.querySelector('input[value=chrf]').checked")
        for name in ("bertscore", "regressor"):
            one(driver, f"input[value={name}]").send_keys(Keys.SPACE)
        one(driver, "#start").send_keys(Keys.ENTER)
        until(driver, "document.querySelector('iframe.report') !== null")
        driver.switch_to.frame(one(driver, "iframe.report"))
        driver.execute_script("document.getElementById('segments').scrollIntoView()")
        until(driver, "document.querySelector('article.segment') !== null")
        assert HOSTILE in one(driver, "article.segment").text
        assert driver.find_elements("css selector", "img") == []
        driver.switch_to.default_content()
        shoot(driver, "serve-dark")
        assert driver.title != "hacked"


def test_a_wrong_file_is_told_and_can_be_removed(address, tmp_path):
    with browser(tmp_path, width=390, height=844) as driver:
        driver.get(address)
        until(driver, "document.querySelectorAll('.metric').length > 20")
        driver.execute_script(DROP, [[f"{HOSTILE}.txt", ""], ["b.tsv", "source\tmt\nx\ty\n"]])
        until(driver, "document.querySelectorAll('.files .alarm').length === 1")
        until(driver, "document.querySelectorAll('.column').length === 2")
        assert "the file is empty" in one(driver, ".files .alarm").text
        click(driver, ".files button")
        assert len(driver.find_elements("css selector", ".files li")) == 1
        until(driver, "document.querySelector('input[value=regressor]').checked")
        until(driver, "!document.getElementById('start').disabled")
        click(driver, "#start")
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390  # nothing sticks out of a phone
        until(driver, "document.body.dataset.run")
        until(driver, "['done', 'failed'].includes(document.body.dataset.state)")
        delete = "document.getElementById('delete').getBoundingClientRect().right"
        assert 0 < until(driver, delete) <= 390  # the last of the buttons is seen, too
        shoot(driver, "serve-phone")
        assert driver.title != "hacked"


def test_a_run_is_cancelled_from_its_page(address, tmp_path):
    texts = columns()
    with browser(tmp_path) as driver:
        driver.get(address)
        until(driver, "document.querySelectorAll('.metric').length > 20")
        files = [["a.txt", texts["rough"] * 200], ["ref.txt", texts["reference"] * 200]]
        driver.execute_script(DROP, files)
        until(driver, "document.querySelectorAll('.column').length === 2")
        until(driver, "document.querySelector('input[value=regressor]').checked")
        click(driver, "#start")
        until(driver, "document.getElementById('cancel') !== null")
        click(driver, "#cancel")
        until(driver, "document.body.dataset.state === 'cancelled'")
        assert "This run was cancelled" in one(driver, "main").text


def test_people_enter_with_the_token(tmp_path):
    token = "correct horse battery"
    with serving(tmp_path / "state", "--token", token) as (_, address), browser(tmp_path) as driver:
        driver.get(address)
        one(driver, "input[name=token]").send_keys("another token here")
        click(driver, "button.main")
        until(driver, "document.querySelector('.alarm') !== null")
        assert "not the token" in one(driver, ".alarm").text
        one(driver, "input[name=token]").send_keys(token)
        click(driver, "button.main")
        until(driver, "document.querySelectorAll('.metric').length > 20")
        click(driver, "#example")  # requests of the page carry the cookie
        until(driver, "document.querySelectorAll('.column').length === 5")
        driver.get(f"{address}run/{'A' * 16}")
        assert "There is no such run" in one(driver, ".alarm").text
