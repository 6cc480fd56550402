"""Debian's Chromium without a window, for tests that look at pages.

    with browser(tmp_path, dark=True) as driver:
        driver.get(address)

Where there is none, the test is skipped and says so. With MTGAUGE_SCREENSHOTS=FOLDER, `shoot` keeps
pictures there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync --lang=en"
).split()


@contextlib.contextmanager
def browser(folder, *, width=1280, height=900, dark=False):
    """A driver with a fresh profile in the folder; `width` below 500 is a phone."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium (extra dev)")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.skip("Chromium is not here: apt install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    profile = tempfile.mkdtemp(dir=folder)
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver_program)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        if width < 500:
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield driver
    finally:
        driver.quit()


def shoot(driver, name):
    """Keep a picture of what is seen, where pictures are wanted; it is never empty."""
    picture = driver.get_screenshot_as_png()
    assert len(picture) > 5000
    if folder := os.environ.get("MTGAUGE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(picture)


def faults(driver):
    """What the browser complained of: errors of scripts, and what the policy forbade."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
