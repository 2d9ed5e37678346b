"""Pictures of two reports side by side, in chromium: before and after a change.

    python -m lab bench report_pictures before.html after.html

Writes docs/figures/report-desktop.jpg (1280 pixels wide) and report-phone.jpg (390). Needs chromium
and chromedriver, selenium and Pillow.
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
from pathlib import Path
from typing import Any

from PIL import Image

FIGURES = Path(__file__).parents[2] / "docs" / "figures"

WIDTHS = {"desktop": (1280, 0.36), "phone": (390, 0.5)}
"""Pixels of the window, and by how much the pictures are reduced."""

GAP = 24


def opened(width: int) -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(switch)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    window = webdriver.Chrome(options=options, service=service)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return window


def pictured(page: Path, width: int, scale: float) -> Image.Image:
    """The whole page, from top to bottom."""
    window = opened(width)
    try:
        window.get(page.resolve().as_uri())
        height = window.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = window.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
    finally:
        window.quit()
    picture = Image.open(io.BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
    return picture.resize((round(scale * width), round(scale * height)), Image.Resampling.LANCZOS)


def in_columns(picture: Image.Image, n_columns: int) -> Image.Image:
    """A long page cut into columns."""
    height = -(-picture.height // n_columns)
    sheet = Image.new("RGB", (n_columns * (picture.width + GAP) - GAP, height), "#c8ccd2")
    for k in range(n_columns):
        part = picture.crop((0, k * height, picture.width, min(picture.height, (k + 1) * height)))
        sheet.paste(part, (k * (picture.width + GAP), 0))
    return sheet


def side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    size = left.width + right.width + 3 * GAP, max(left.height, right.height)
    sheet = Image.new("RGB", size, "#c8ccd2")
    sheet.paste(left, (0, 0))
    sheet.paste(right, (left.width + 3 * GAP, 0))
    return sheet


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab bench report_pictures")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    given = parser.parse_args()
    FIGURES.mkdir(exist_ok=True)
    for name, (width, scale) in WIDTHS.items():
        columns = 1 if name == "desktop" else 2
        pages = [
            in_columns(pictured(p, width, scale), columns) for p in (given.before, given.after)
        ]
        target = FIGURES / f"report-{name}.jpg"
        side_by_side(*pages).save(target, quality=80, optimize=True)
        print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
