# SPDX-License-Identifier: MIT
"""The other views, the frame, and what holds for all of them."""

import json
import secrets
import subprocess
import threading
import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from conftest import SERVER, Server

VIEWS = ["properties", "properties/kitchen/light", "properties/kept/power", "properties/kitchen/fahrenheit", "signals",
         "expressions", "clients", "server"]


def test_signals_stream(console, server):
    name = f"bell-{secrets.token_hex(3)}"
    page = console.open("signals")
    expect(page.locator(".state")).to_have_text("Live")
    expect(page.locator(".stream")).to_be_visible()
    page.wait_for_timeout(300)
    server.ask("POST", f"signals/{name}", {"floor": 3})
    expect(page.locator(".stream")).to_contain_text(name)
    expect(page.locator(".stream")).to_contain_text("{floor: 3}")


def test_signals_filter(console, server):
    name = f"bell-{secrets.token_hex(3)}"
    page = console.open("signals")
    page.get_by_label("Pattern of signals").fill(f"{name}/*")
    page.get_by_label("Filter of messages").fill("message.floor > 2")
    page.wait_for_timeout(800)
    for floor in (1, 2, 3):
        server.ask("POST", f"signals/{name}/x", {"floor": floor})
    expect(page.locator(".stream")).to_contain_text("{floor: 3}")
    expect(page.locator(".stream")).not_to_contain_text("{floor: 1}")


def test_signals_mistake(console):
    page = console.open("signals")
    page.get_by_label("Filter of messages").fill("mesage > 2")
    expect(page.locator(".mistake")).to_contain_text("mesage")


def test_send(console, server):
    name = f"bell-{secrets.token_hex(3)}"
    page = console.open("signals")
    form = page.get_by_role("form", name="Send a message")
    form.get_by_label("Signal").fill(name)
    form.get_by_label("Message").fill('{"from":"here"}')
    form.get_by_role("button", name="Send").click()
    expect(page.locator(".stream")).to_contain_text(name)


def test_text_without_quotes_is_explained(console):
    page = console.open("signals")
    form = page.get_by_role("form", name="Send a message")
    form.get_by_label("Signal").fill("bell")
    form.get_by_label("Message").fill("hello")
    form.get_by_role("button", name="Send").click()
    expect(page.locator(".notice")).to_contain_text('for text, write "…"')


def test_pause(console, server):
    name = f"bell-{secrets.token_hex(3)}"
    page = console.open("signals")
    page.wait_for_timeout(400)
    server.ask("POST", f"signals/{name}", 1)
    expect(page.locator(".stream")).to_contain_text(name)
    console.button("Pause").click()
    server.ask("POST", f"signals/{name}-late", 1)
    page.wait_for_timeout(600)
    expect(page.locator(".stream")).not_to_contain_text(f"{name}-late")
    expect(console.button("Go on")).to_be_visible()


def test_timers(console, server):
    name = f"timer-{secrets.token_hex(3)}"
    page = console.open("signals")
    form = page.get_by_role("form", name="Set a timer")
    form.get_by_label("Signal").fill(name)
    form.get_by_label("When").select_option("every")
    form.get_by_label("Time").fill("45s")
    form.get_by_role("button", name="Set").click()
    row = page.locator("tr", has_text=name)
    expect(row).to_contain_text("every 45s")
    row.get_by_role("button", name=f"Remove {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_expression_is_explained(console):
    page = console.open("expressions")
    page.get_by_label("Expression", exact=True).fill('path.startsWith("kitchen/") && value == 21.5')
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("It is right")
    expect(verdict.get_by_role("link", name="kitchen/temperature")).to_be_visible()
    expect(verdict).to_contain_text("steps")


def test_expression_mistake_has_a_caret(console):
    page = console.open("expressions")
    page.get_by_label("Expression", exact=True).fill("value > ")
    expect(page.locator(".verdict .mistake")).to_contain_text("^")


def test_formula_is_tried(console):
    page = console.open("expressions")
    console.button("Formula").click()
    page.get_by_label("Expression", exact=True).fill('properties["kitchen/temperature"] + 0.5')
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("22")
    verdict.get_by_role("link", name="kitchen/temperature").click()
    expect(page.locator(".scalar")).to_have_text("21.5")


def test_clients_and_their_subscriptions(console, server):
    other = subprocess.Popen(
        [SERVER, "watch", "--server", server.url, "hall/**", "--where", "value == 'x'"], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        page = console.open("clients")
        page.get_by_label("Find clients").fill("hall/**")
        expect(page.locator("tbody tr").first).to_contain_text("WebSocket")
        page.locator("tbody .link").first.click()
        expect(page.locator(".subscriptions")).to_contain_text("hall/**")
        expect(page.locator(".subscriptions")).to_contain_text("value == 'x'")
    finally:
        other.kill()
        other.wait()


def test_close_a_connection(console, server, browser):
    # To wait for something there, on a page whose policy allows no scripts.
    context = browser.new_context(bypass_csp=True)
    other = context.new_page()
    other.goto(f"{server.url}/health/live")
    name = secrets.token_hex(4)
    other.evaluate(
        f"() => new Promise((done) => {{ window.socket = new WebSocket('{server.url.replace('http', 'ws')}/events?match={name}');"
        " socket.onmessage = done; socket.onclose = (event) => { window.closeCode = event.code } })")
    page = console.open("clients")
    page.get_by_label("Find clients").fill(name)
    page.get_by_role("button", name="Close the connection of").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Close it").click()
    expect(page.locator("tbody tr")).to_have_count(0)
    other.wait_for_function("window.closeCode === 4800")
    context.close()


def test_server_tells_its_state(console):
    page = console.open("server")
    expect(page.locator(".tiles")).to_contain_text("Properties")
    expect(page.locator(".tiles")).to_contain_text("Version")


HELD_METRICS = """
const fetched = window.fetch
window.asked = 0
const first = new Promise((done) => { window.letGo = done })
window.fetch = async (...given) => {
  if (String(given[0]).endsWith("metrics")) {
    window.asked += 1
    await first
  }
  return fetched(...given)
}
"""


def test_metrics_are_read_one_after_the_other(console):
    console.page.add_init_script(HELD_METRICS)
    page = console.open()
    expect(page.locator(".state")).to_have_text("Live")
    page.get_by_role("navigation").get_by_role("link", name="Server").click()
    expect(page.locator(".tiles")).to_contain_text("Version")
    page.wait_for_timeout(300)
    assert page.evaluate("window.asked") == 1
    page.evaluate("window.letGo()")
    expect(page.locator(".tiles")).to_contain_text("commits")


def test_settings_have_sources(console):
    page = console.open("server")
    page.get_by_label("Find a setting").fill("data.history")
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("kept/**")
    expect(row).to_contain_text("signal-server.yaml:")
    page.get_by_label("Find a setting").fill("")
    page.get_by_label("only those that were set").check()
    expect(page.locator("tbody tr", has_text="http.head-bytes")).to_have_count(0)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious_for_axe(console, view):
    page = console.open(view)
    expect(page.locator(".state")).to_have_text("Live")
    page.wait_for_timeout(1200)
    results = Axe().run(page)
    serious = [
        f"{finding['id']}: {[node['html'][:140] for node in finding['nodes'][:3]]}"
        for finding in results.response["violations"] if finding["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_the_screen(console, view):
    page = console.open(view)
    expect(page.locator(".state")).to_have_text("Live")
    page.wait_for_timeout(800)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth")


def test_what_is_well_looks_well(console):
    page = console.open("clients")
    expect(page.locator(".state")).to_have_text("Live")
    colour = "(element) => getComputedStyle(element).backgroundColor"
    accent = page.locator(".views [aria-current]").evaluate(colour)
    assert page.locator(".state").evaluate(colour) == accent
    assert page.locator(".tag.is-good").first.evaluate(colour) == accent
    assert page.evaluate("""() => {
      const probe = document.body.appendChild(document.createElement("i"))
      probe.style.background = "var(--accent-soft)"
      return getComputedStyle(probe).backgroundColor
    }""") == accent


def test_views_are_reached_by_links(console):
    page = console.open()
    for name in ("Signals", "Expressions", "Clients", "Server", "Properties"):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page).to_have_title(f"{name} · Signal Server")


def test_light_is_chosen_and_kept(console):
    page = console.open()
    before = page.locator("html").get_attribute("data-theme")
    console.button("Light or dark").click()
    after = page.locator("html").get_attribute("data-theme")
    assert {before, after} == {"light", "dark"}
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", after)


def test_server_that_goes_and_comes(open_console, tmp_path):
    first = Server(tmp_path)
    first.set("both/gone", 1)
    first.set("both/kept", 1)
    first.set("old/gone", 1)
    console = open_console(first)
    page = console.open()
    expect(page.locator(".state")).to_have_text("Live")
    expect(console.row("both/gone")).to_be_visible()
    console.isCut = True
    first.stop()
    expect(page.locator(".state")).not_to_have_text("Live")
    port = first.url.rsplit(":", 1)[1]
    second = subprocess.Popen([SERVER, "serve", "--port", port], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        second.stdout.readline()
        for path in ("both/kept", "both/new", "other/new"):
            first.set(path, 2)
        expect(page.locator(".state")).to_have_text("Live", timeout=40_000)
        # It keeps nothing, so what is there is what was set since.
        expect(console.row("both/new")).to_be_visible()
        expect(console.row("other")).to_be_visible()
        expect(console.row("both/gone")).to_have_count(0)
        expect(console.row("old")).to_have_count(0)
        expect(console.row("both/kept").locator(".row-value")).to_have_text("2")
    finally:
        second.terminate()
        second.wait()


def make_guarded(tmp_path, auth, rule):
    """A server with rules, and the tokens of an administrator and of somebody else."""
    tokens = {}
    for name, role in (("root", "admin"), ("ann", "reader")):
        made = subprocess.run(
            [SERVER, "token", "create", "--file", str(tmp_path / "tokens.json"), "--id", name, "--claim", f"role={role}"],
            capture_output=True, text=True, check=True)
        tokens[name] = next(word for word in made.stdout.split() if word.startswith("sgn_"))
    settings = (f"auth: {{tokens: {tmp_path}/tokens.json{auth}}}\naccess:\n  admin: auth.role == \"admin\"\n"
                f"  rules:\n    - {{match: \"{rule}\", read: \"true\"}}\n")
    server = Server(tmp_path, settings, tokens["root"])
    server.set("open/a", 1)
    server.set("secret/b", 2)
    server.tokens = tokens
    return server


@pytest.fixture
def guarded(tmp_path):
    """A server that wants to know who asks."""
    server = make_guarded(tmp_path, ", required: true", "open/**")
    yield server
    server.stop()


@pytest.fixture
def readable(tmp_path):
    """A server that everybody may read."""
    server = make_guarded(tmp_path, "", "**")
    yield server
    server.stop()


def refusals(page, *statuses):
    """The answers of these statuses from now on: the path, and whether a token was sent."""
    found = []
    page.on("response", lambda answer: answer.status in statuses and found.append(
        (answer.url.split("/", 3)[3], "authorization" in answer.request.headers)))
    return found


def sign_in(page, token):
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()


def test_sign_in(guarded, open_console):
    console = open_console(guarded)
    page = console.open()
    sign_in(page, "sgn_wrong_0000000000000000000000000000000000000000000")
    expect(page.get_by_role("dialog").locator(".problem")).to_be_visible()
    sign_in(page, guarded.tokens["root"])
    expect(page.locator(".state")).to_have_text("Live")
    expect(page.locator(".who")).to_contain_text("root")
    expect(console.row("secret/b")).to_be_visible()
    assert guarded.tokens["root"] not in page.url
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    assert guarded.tokens["root"] not in kept
    page.reload()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_sign_in_can_be_kept_for_the_tab(guarded, open_console):
    console = open_console(guarded)
    page = console.open()
    page.get_by_label("keep it until this tab is closed").check()
    sign_in(page, guarded.tokens["root"])
    expect(page.locator(".state")).to_have_text("Live")
    page.reload()
    expect(page.locator(".state")).to_have_text("Live")
    assert guarded.tokens["root"] not in page.evaluate("JSON.stringify(localStorage)")


def test_others_see_what_they_may(guarded, open_console):
    console = open_console(guarded)
    page = console.open()
    sign_in(page, guarded.tokens["ann"])
    expect(console.row("open/a")).to_be_visible()
    expect(console.row("secret")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Clients").click()
    expect(page.locator("tbody")).to_contain_text("administrators")
    page.get_by_role("navigation").get_by_role("link", name="Server").click()
    expect(page.locator(".tiles")).to_contain_text("administrators")


def test_nobody_is_asked_who_reads_only(readable, open_console):
    console = open_console(readable)
    page = console.open("properties/open/a")
    found = refusals(page, 401)
    expect(page.locator(".scalar")).to_have_text("1")
    expect(console.button("Sign in")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Server").click()
    expect(page.locator(".tiles")).to_contain_text("Not told")
    page.wait_for_timeout(6000)
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Each of them is a line in the audit log; metrics are asked for by the frame and by the view.
    once = [path for path, _ in found if path != "metrics"]
    assert once and len(once) == len(set(once))


def revoke(server, tmp_path, name):
    subprocess.run([SERVER, "token", "revoke", "--file", str(tmp_path / "tokens.json"), name], check=True, capture_output=True)


@pytest.fixture(params=["guarded", "readable"])
def either(request):
    return request.param, request.getfixturevalue(request.param)


def test_a_revoked_token_is_not_sent_again(either, open_console, tmp_path):
    kind, server = either
    console = open_console(server)
    page = console.open("properties/open/a")
    if kind == "readable":
        console.button("Sign in").click()
    page.get_by_label("keep it until this tab is closed").check()
    sign_in(page, server.tokens["ann"])
    expect(page.locator(".who")).to_contain_text("ann")
    expect(page.locator(".scalar")).to_have_text("1")
    found = refusals(page, 401)
    revoke(server, tmp_path, "ann")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".problem")).to_be_visible()
    page.wait_for_timeout(6000)
    assert len([path for path, isWithToken in found if isWithToken]) <= 2
    assert len(found) < 6
    assert page.evaluate("sessionStorage.length") == 0
    dialog.get_by_role("button", name="Cancel").click()
    if kind == "readable":
        expect(page.locator(".scalar")).to_have_text("1")
        expect(page.locator(".state")).to_have_text("Live")
    else:
        sign_in_again(page, console, server)


def sign_in_again(page, console, server):
    console.button("Sign in").click()
    sign_in(page, server.tokens["root"])
    expect(page.locator(".state")).to_have_text("Live")


def test_a_mistyped_token_ends_nothing(guarded, open_console):
    console = open_console(guarded)
    page = console.open("properties/secret/b")
    page.get_by_label("keep it until this tab is closed").check()
    sign_in(page, guarded.tokens["root"])
    expect(page.locator(".scalar")).to_have_text("2")
    page.locator(".who").click()
    sign_in(page, "sgn_wrong_0000000000000000000000000000000000000000000")
    expect(page.get_by_role("dialog").locator(".problem")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".state")).to_have_text("Live")
    guarded.set("secret/b", 3)
    expect(page.locator(".scalar")).to_have_text("3")
    page.reload()
    expect(page.locator(".who")).to_contain_text("root")
    page.locator(".who").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(page.locator(".scalar")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_be_visible()


def test_without_the_right_to_see_who_watches_there_is_the_rest(guarded, open_console):
    console = open_console(guarded)
    page = console.open("properties/open/a")
    found = refusals(page, 403)
    sign_in(page, guarded.tokens["ann"])
    expect(page.locator(".scalar")).to_have_text("1")
    expect(page.locator(".meta")).to_contain_text("Size")
    page.wait_for_timeout(11_000)
    expect(page.locator(".meta")).not_to_contain_text("watching")
    assert len([path for path, _ in found if "watchers" in path]) == 1
    del found[:]
    page.get_by_role("navigation").get_by_role("link", name="Server").click()
    expect(page.locator(".tiles")).to_contain_text("administrators")
    page.wait_for_timeout(5000)
    assert len(found) == len(set(found))


def test_clients_name_this_page(console):
    page = console.open("clients")
    expect(page.locator("tbody tr", has_text="this page")).to_have_count(1)
    expect(page.locator("tbody tr", has_text="this page")).to_contain_text("WebSocket")
    expect(page.locator("tbody tr", has_text="same address").first).to_contain_text("HTTP")
    for text in ("Gaps", "Waits for it"):
        expect(page.locator(".clients th", has_text=text)).to_be_visible(visible=not console.isNarrow)
    wide = page.locator(".wide-table")
    assert wide.evaluate("(element) => element.scrollWidth <= element.clientWidth")


def test_the_list_of_clients_outlives_a_failure(console):
    page = console.open("clients")
    expect(page.locator("tbody tr").first).to_contain_text("127.0.0.1")
    console.isCut = True
    page.route("**/server/connections*", lambda route: route.abort("connectionreset"))
    expect(page.locator("tbody")).to_contain_text("cannot be reached")
    page.unroute("**/server/connections*")
    expect(page.locator("tbody tr").first).to_contain_text("127.0.0.1")
