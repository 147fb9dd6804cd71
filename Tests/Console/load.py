#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the console costs with many properties that change, and how soon a page has its first value.

load.py SERVER [--seconds 120] [--properties 100000] [--rate 1000]
"""

import argparse
import http.client
import json
import os
import subprocess
import threading
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

TICK = os.sysconf("SC_CLK_TCK")


def processor_time(pids):
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def children(pid):
    found = [pid]
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found += children(int(folder.name))
    return found


class Writer(threading.Thread):
    """Changes properties all over the tree at a steady rate, twenty in a transaction."""

    def __init__(self, url, properties, rate):
        super().__init__(daemon=True)
        self.address = urlsplit(url)
        self.properties, self.rate = properties, rate
        self.isOver = False
        self.written = 0

    def run(self):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port)
        begun = time.monotonic()
        number = 0
        while not self.isOver:
            operations = []
            for _ in range(20):
                number += 1
                operations.append({"op": "set", "path": name((number * 7919) % self.properties), "value": number})
            connection.request("POST", "/transactions", json.dumps({"operations": operations}))
            connection.getresponse().read()
            self.written += 20
            ahead = begun + self.written / self.rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)


def name(number):
    return f"site{number % 10}/line{number // 10 % 100}/sensor{number // 1000:04}"


def measure(page, browser_pids, server_pid, seconds, what):
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    heaps = []
    begun = time.monotonic()
    browser, server = processor_time(browser_pids()), processor_time([server_pid])
    while time.monotonic() - begun < seconds:
        time.sleep(max(1, seconds / 6))
        session.send("HeapProfiler.collectGarbage")
        heaps.append(session.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
    span = time.monotonic() - begun
    browser = (processor_time(browser_pids()) - browser) / span * 100
    server = (processor_time([server_pid]) - server) / span * 100
    print(f"{what}: browser {browser:.1f} % of a core, server {server:.1f} %, heap of the page "
          + " ".join(f"{heap:.1f}" for heap in heaps) + " MB", flush=True)
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--properties", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    server = subprocess.Popen([options.server, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = server.stdout.readline().split()[-1]
    connection = http.client.HTTPConnection(urlsplit(url).hostname, urlsplit(url).port)
    for start in range(0, options.properties, 1000):
        operations = [{"op": "set", "path": name(number), "value": number}
                      for number in range(start, min(start + 1000, options.properties))]
        connection.request("POST", "/transactions", json.dumps({"operations": operations}))
        connection.getresponse().read()
    writer = Writer(url, options.properties, options.rate)
    writer.start()
    time.sleep(2)
    before = processor_time([server.pid])
    time.sleep(options.seconds / 2)
    alone = (processor_time([server.pid]) - before) / (options.seconds / 2) * 100
    print(f"without a console: server {alone:.1f} % of a core", flush=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox"])
        pids = lambda: [pid for pid in children(os.getpid()) if pid not in (os.getpid(), server.pid)]
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        first_values(browser, url)
        page.goto(f"{url}/console#/properties/{name(0)}")
        page.wait_for_selector(".state[data-state=live]")
        page.wait_for_timeout(2000)
        # A folder of a hundred and one of a thousand lines are open, as somebody would have them.
        for path in ("site0", "site0/line0", "site1", "site1/line1"):
            row = page.locator(f'.row:not([hidden])[data-path="{path}"]')
            if row.count() and row.get_attribute("aria-expanded") == "false":
                row.click()
                page.wait_for_timeout(500)
        beside = measure(page, pids, server.pid, options.seconds, "the tree and a property")
        print(f"the console costs the server {beside - alone:.1f} % of a core", flush=True)
        scroll(page)
        browser.close()
    writer.isOver = True
    print(f"{writer.written} changes were made")
    server.terminate()


def scroll(page):
    """The longest time between two frames while the tree is scrolled through."""
    gaps = page.evaluate("""async () => {
      const rows = document.querySelector(".rows")
      const gaps = []
      let last = performance.now()
      for (let step = 0; step < 300; step += 1) {
        rows.scrollTop += 90
        await new Promise(requestAnimationFrame)
        gaps.push(performance.now() - last)
        last = performance.now()
      }
      return gaps.sort((a, b) => a - b)
    }""")
    print(f"scrolling: frames after {median(gaps):.1f} ms, 99 %: {gaps[int(len(gaps) * 0.99)]:.1f} ms; "
          f"{page.locator('.row').count()} rows in the document")


def first_values(browser, url):
    """From the import of the client to the first value, in browsers that know nothing yet."""
    times = []
    for _ in range(20):
        # As a page of somebody's own, which allows scripts.
        context = browser.new_context(bypass_csp=True)
        page = context.new_page()
        page.goto(f"{url}/health/live")
        times.append(page.evaluate("""async (path) => {
          const begun = performance.now()
          const { connect } = await import("/client.js")
          const client = connect(location.origin)
          const property = client.property(path)
          await new Promise((done) => property.subscribe((value) => { if (value !== undefined) done() }))
          client.close()
          return performance.now() - begun
        }""", name(1)))
        context.close()
    times.sort()
    print(f"import to first value: half within {median(times):.1f} ms, all within {times[-1]:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
