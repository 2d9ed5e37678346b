"""A browser that is offline."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    """Chromium, headless and with no network at all."""
    names = ("chromium", "chromium-browser", "google-chrome")
    binary = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed: `make test-browser` does it")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(switch)
    options.add_argument("--window-size=1280,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    window.execute_cdp_cmd("Network.enable", {})
    cut_off = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    window.execute_cdp_cmd("Network.emulateNetworkConditions", cut_off)
    yield window
    window.quit()
