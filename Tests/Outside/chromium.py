# SPDX-License-Identifier: MIT
"""Chromium for the programs beside this one, over its DevTools protocol. Needs Chromium and websockets (PyPI)."""

import contextlib
import http.client
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

import websockets.sync.client

HOST = "127.0.0.1"


class Page:
    """A tab; what is asked of it is answered before the next question."""

    def __init__(self, port, url):
        connection = http.client.HTTPConnection(HOST, port, timeout=30)
        connection.request("PUT", f"/json/new?{urllib.parse.quote(url)}")
        page = json.loads(connection.getresponse().read())
        connection.close()
        self.stack = contextlib.ExitStack()
        self.socket = self.stack.enter_context(
            websockets.sync.client.connect(page["webSocketDebuggerUrl"], max_size=None))
        self.numbers = itertools.count(1)

    def command(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=120))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]

    def evaluate(self, expression):
        """The value of an expression, or what a promise brings."""
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")


class Browser:
    def __init__(self, folder, *flags):
        names = ("chromium", "chromium-browser", "google-chrome")
        binary = next(filter(None, map(shutil.which, names)), None) or sys.exit("There is no Chromium.")
        log = os.path.join(folder, "chromium.log")
        self.process = subprocess.Popen(
            [binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *flags,
             "--remote-debugging-port=0", f"--user-data-dir={folder}/chromium", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=open(log, "wb"), env={**os.environ, "HOME": folder})
        self.pages = []
        end = time.monotonic() + 60
        found = None
        while not found:
            if time.monotonic() > end:
                sys.exit(f"Chromium does not say where its DevTools listen; see {log}.")
            time.sleep(0.05)
            found = re.search(r"listening on ws://127\.0\.0\.1:(\d+)/", open(log, errors="replace").read())
        self.port = int(found[1])

    def open(self, url):
        self.pages.append(Page(self.port, url))
        return self.pages[-1]

    def close(self):
        for page in self.pages:
            page.stack.close()
        self.process.terminate()
        self.process.wait(30)
