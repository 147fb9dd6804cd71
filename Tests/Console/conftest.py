# SPDX-License-Identifier: MIT
"""A server for the whole run, a browser, and pages that tell of every error."""

import json
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect, sync_playwright

SERVER = os.environ.get("SIGNAL_SERVER", str(Path(__file__).parents[2] / ".build/release/signal-server"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# A folder whose files are shown instead of those in the server, for those who work on the console.
FILES = os.environ.get("CONSOLE_FILES")
CLIENT = Path(__file__).parents[2] / "Clients/javascript/signal-client.js"
PATIENCE = float(os.environ.get("PATIENCE", "15")) * 1000

SCREENS = [(width, light) for width in (1280, 390) for light in ("light", "dark")]
# What the browser says by itself of an answer that the console expects: a conflict, a property without a history.
EXPECTED = [
    (404, r"/history/|/metrics|/properties/"), (412, r"/properties/"), (400, r"."), (401, r"."), (403, r"."), (405, r"/events"),
    (422, r"."), (409, r"."),
]

expect.set_options(timeout=PATIENCE)


class Server:
    """A process of signal-server with settings of its own, and requests to it."""

    def __init__(self, folder, settings="", token=None):
        self.token = token
        config = Path(folder) / "signal-server.yaml"
        config.write_text(f"port: 0\nlimits:\n  local: false\n{settings}")
        self.process = subprocess.Popen(
            [SERVER, "serve", "--config", str(config)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError(f"{SERVER} does not serve: {line!r}")
        self.url = line.split()[-1]

    def ask(self, method, path, body=None, **headers):
        data = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()

    def set(self, path, value, query=""):
        return self.ask("PUT", f"properties/{quote(path)}{query}", json.dumps(value))

    def get(self, path):
        try:
            return json.loads(self.ask("GET", f"properties/{quote(path)}")[1])
        except urllib.error.HTTPError as refusal:
            if refusal.code == 404:
                return None
            raise

    def delete(self, path):
        try:
            self.ask("DELETE", f"properties/{quote(path)}")
        except urllib.error.HTTPError as refusal:
            if refusal.code != 404:
                raise

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="session")
def server():
    folder = tempfile.mkdtemp(prefix="console-")
    settings = f'data:\n  dir: {folder}/data\n  sync: 100ms\n  history: ["kept/** raw 24h, 10s 2d, 1m 30d"]\n'
    server = Server(folder, settings)
    for path, value in {
        "kitchen/temperature": 21.5, "kitchen/mode": "cooking", "kitchen/oven": None,
        "kitchen/light": {"on": True, "level": 72, "colour": {"h": 41, "s": 0.6}},
        "hall/door": "closed", "hall/light": {"on": False, "level": 0}, "kept/power": 1800, "kept/flow": {"in": 3, "out": 2.5},
        "office/meeting room/booked": [{"by": "Ann"}, {"by": "Bob"}], "exact/number": 1,
    }.items():
        server.set(path, value)
    server.ask("PUT", "properties/exact/number", "12345678901234567890.123456789012345678")
    server.ask("PUT", "properties/kitchen/fahrenheit", 'properties["kitchen/temperature"] * 1.8 + 32.0',
               Content_Type="application/cel")
    for value in (1750, 1820, 1790):
        server.set("kept/power", value)
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        # A page that does not come from the server itself counts as one of the internet.
        if FILES:
            arguments.append("--disable-features=LocalNetworkAccessChecks")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(params=SCREENS, ids=lambda screen: f"{screen[0]}-{screen[1]}")
def screen(request):
    return request.param


@pytest.fixture
def path(server):
    """A path for one test alone."""
    path = f"test-{secrets.token_hex(4)}/value"
    yield path
    server.delete(path)


class Console:
    """A page of the console."""

    def __init__(self, page, url, width):
        self.page = page
        self.url = url
        self.isNarrow = width < 760
        self.errors = []
        # What a test itself brings about.
        self.isCut = False
        # The messages of the live protocol, as they were sent.
        self.sent = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda text: self.sent.append(text)))
        page.on("console", self.heard)
        page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective))")

    def heard(self, message):
        if message.type not in ("error", "warning"):
            return
        status = re.search(r"status of (\d+)", message.text)
        where = (message.location or {}).get("url", "")
        if status and any(int(status[1]) == known and re.search(place, where) for known, place in EXPECTED):
            return
        if self.isCut and "ERR_CONNECTION" in message.text:
            return
        self.errors.append(f"{message.type}: {message.text} {where}")

    def open(self, view=""):
        self.page.goto(f"{self.url}/console#/{view}")
        return self.page

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def row(self, path):
        return self.page.locator(f'.row:not([hidden])[data-path="{path}"]')


@pytest.fixture
def open_console(browser, screen):
    """Makes consoles of servers; afterwards none of them has told an error."""
    width, light = screen
    made = []

    def make(server, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 800 if width > 760 else 844}, color_scheme=light, has_touch=width < 760,
            permissions=["clipboard-read", "clipboard-write"], **options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        if FILES:
            show_files(context, page, server.url)
        console = Console(page, server.url, width)
        made.append((context, console))
        return console

    yield make
    for context, console in made:
        context.close()
        assert console.errors == []


def show_files(context, page, url):
    policy = context.request.get(f"{url}/console").headers["content-security-policy"]
    types = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".html": "text/html"}

    def fill(route):
        name = route.request.url.rsplit("/", 1)[1]
        file = CLIENT if name == "client.js" else Path(FILES) / ("index.html" if name == "console" else name)
        headers = {"Content-Type": f"{types[file.suffix]}; charset=utf-8"}
        if file.suffix == ".html":
            headers["Content-Security-Policy"] = policy
        route.fulfill(status=200, headers=headers, body=file.read_bytes())

    page.route(re.compile(r"/console(/[a-z.]+)?$|/client.js$"), fill)


@pytest.fixture
def console(open_console, server):
    return open_console(server)
