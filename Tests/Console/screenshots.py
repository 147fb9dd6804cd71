#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the pictures of the console in docs/images from a server with some data that changes.

screenshots.py SERVER [--folder docs/images]
"""

import argparse
import math
import random
import tempfile
import time
from pathlib import Path

import conftest
from playwright.sync_api import sync_playwright


def fill(server):
    for path, value in {
        "kitchen/temperature": 21.5, "kitchen/humidity": 48.2, "kitchen/mode": "cooking", "kitchen/oven": None,
        "kitchen/light": {"on": True, "level": 72, "colour": {"h": 41, "s": 0.6, "v": 0.9}}, "hall/door": "closed",
        "hall/light": {"on": False, "level": 0}, "bath/temperature": 23.25, "office/desk/height": 112, "office/desk/occupied": True,
        "grid/power": 1840, "grid/import": 12873645.18,
        "build/linux-1": {"state": "idle", "load": [0.1, 0.2]}, "build/linux-2": {"state": "building", "load": [3.9, 3.1]},
    }.items():
        server.set(path, value)
    server.set("presence/ann", "here", "?ttl=9m")
    server.ask("PUT", "properties/kitchen/fahrenheit", 'properties["kitchen/temperature"] * 1.8 + 32.0',
               Content_Type="application/cel")


def live(server, seconds):
    """A house as it lives, for some seconds."""
    end = time.monotonic() + seconds
    temperature, number = 21.5, 0
    while time.monotonic() < end:
        number += 1
        temperature += random.gauss(0, 0.05) + (21.5 + math.sin(number / 25) - temperature) * 0.08
        server.ask("POST", "transactions", {"operations": [
            {"op": "set", "path": "kitchen/temperature", "value": round(temperature, 2)},
            {"op": "set", "path": "bath/temperature", "value": round(23 + math.sin(number / 18), 2)},
            {"op": "set", "path": "grid/power", "value": round(1500 + 400 * math.sin(number / 30) + random.random() * 90)}]})
        time.sleep(0.25)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server")
    parser.add_argument("--folder", default=str(Path(__file__).parents[2] / "docs/images"))
    options = parser.parse_args()
    conftest.SERVER = options.server
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    random.seed(7)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = conftest.Server(folder)
        fill(server)
        browser = playwright.chromium.launch(executable_path=conftest.CHROMIUM, args=["--no-sandbox"])
        pages = []
        for name, width, height, light, view in (
            ("console.png", 1280, 800, "light", "properties/kitchen/temperature"),
            ("console-phone.png", 390, 844, "dark", "properties/kitchen/temperature"),
        ):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=light, has_touch=width < 760)
            page = context.new_page()
            page.goto(f"{server.url}/console#/{view}")
            page.wait_for_selector(".chart canvas")
            add = page.get_by_label("Add another property")
            add.fill("bath/temperature")
            add.press("Enter")
            pages.append((name, page))
        live(server, 62)
        for name, page in pages:
            page.screenshot(path=str(Path(options.folder) / name))
            print(name, (Path(options.folder) / name).stat().st_size, "bytes")
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()
