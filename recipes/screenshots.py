"""Pictures of the report for README and docs: the demo's page in Chromium, light and dark.

    python recipes/screenshots.py            writes docs/assets/report*.png

Needs Chromium and its driver (apt install chromium chromium-driver) and selenium (extra dev).
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mtgauge.data.output import write
from mtgauge.engine.demo import demo
from mtgauge.report.page import render

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from chromium import browser  # noqa: E402

ASSETS = ROOT / "docs" / "assets"
SCALE = 0.8


def shoot(driver: Any, name: str, top: int, height: int) -> None:
    """A part of the page, from `top` pixels on."""
    width = driver.execute_script("return document.documentElement.clientWidth")
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": SCALE}
    options = {"captureBeyondViewport": True, "clip": clip, "optimizeForSpeed": False}
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    (ASSETS / f"{name}.png").write_bytes(base64.b64decode(picture))


def top_of(driver: Any, selector: str) -> int:
    script = "return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY"
    return int(driver.execute_script(script, selector))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo.html"
        write(path, render(demo()))
        for name, width, dark in (
            ("report", 1120, False),
            ("report-dark", 1120, True),
            ("report-phone", 390, False),
        ):
            with browser(folder, width=width, dark=dark) as driver:
                driver.get(path.as_uri())
                driver.execute_script("document.getElementById('segments').scrollIntoView()")
                time.sleep(2)
                shoot(driver, name, 0, 900)
                if name == "report":
                    script = "document.querySelector('.segment header button').click()"
                    driver.execute_script(script)
                    time.sleep(2)
                    shoot(driver, "report-segments", top_of(driver, "#segments") - 10, 1000)


if __name__ == "__main__":
    main()
