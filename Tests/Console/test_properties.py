# SPDX-License-Identifier: MIT
"""The view Properties."""

import json
import re
import secrets
import time
import urllib.request
from datetime import datetime, timezone

import pytest
from playwright.sync_api import expect


def test_tree_shows_what_there_is(console):
    page = console.open()
    expect(page.locator(".state")).to_have_text("Live")
    expect(console.row("kitchen/temperature").locator(".row-value")).to_have_text("21.5")
    expect(console.row("kitchen/mode").locator(".row-value")).to_have_text('"cooking"')
    expect(console.row("kitchen/fahrenheit").locator(".row-mark")).to_have_text("ƒ")
    expect(console.row("kitchen")).to_have_attribute("aria-expanded", "true")


def test_long_value_leaves_room_for_the_name(console, server, path):
    server.set(path, "long " * 60)
    console.open(f"properties?match={path}")
    row = console.row(path)
    expect(row.locator(".row-value")).to_contain_text("long")
    assert row.locator(".row-name").evaluate("(name) => name.scrollWidth <= name.clientWidth")


def test_value_in_sight_is_live(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties?match={path}")
    expect(console.row(path).locator(".row-value")).to_have_text("1")
    server.set(path, 2)
    expect(console.row(path).locator(".row-value")).to_have_text("2")
    expect(page.locator(".summary")).to_contain_text("1 found")


def test_tree_takes_in_what_comes_and_goes(console, server, path):
    console.open()
    expect(console.row("kitchen")).to_be_visible()
    folder = path.split("/")[0]
    server.set(path, 1)
    row = console.row(folder)
    row.scroll_into_view_if_needed()
    expect(row).to_be_visible()
    row.click()
    expect(console.row(path)).to_be_visible()
    server.delete(path)
    expect(console.row(path)).to_have_count(0)
    expect(console.row(folder)).to_have_count(0)


def test_tree_takes_in_what_comes_and_goes_while_a_level_is_loaded(console, server):
    folder = f"test-{secrets.token_hex(4)}"

    def late(route):
        answer = route.fetch()
        server.set(f"{folder}/new", 1)
        server.delete(f"{folder}/gone")
        # Until the page has been told of both, twice a second.
        time.sleep(1.5)
        route.fulfill(response=answer)

    page = console.open()
    expect(console.row("kitchen")).to_be_visible()
    # What comes later is not opened by itself.
    server.set(f"{folder}/gone", 1)
    row = console.row(folder)
    row.scroll_into_view_if_needed()
    page.route(re.compile(rf"/properties\?match={folder}"), late)
    row.click()
    expect(console.row(f"{folder}/new")).to_be_visible()
    expect(console.row(f"{folder}/gone")).to_have_count(0)
    server.delete(f"{folder}/new")


def test_whole_store_is_told_without_values(console):
    page = console.open()
    expect(page.locator(".state")).to_have_text("Live")
    expect(console.row("kitchen")).to_be_visible()
    subscriptions = [message for message in map(json.loads, console.sent) if message.get("match") == ["**"]]
    assert [message["fields"] for message in subscriptions] == [["path", "revision"]]


def test_levels_open_and_close(console):
    console.open()
    expect(console.row("office/meeting room")).to_be_visible()
    row = console.row("office")
    row.locator(".row-chevron").click()
    expect(row).to_have_attribute("aria-expanded", "false")
    expect(console.row("office/meeting room")).to_have_count(0)
    row.locator(".row-chevron").click()
    console.row("office/meeting room").click()
    expect(console.row("office/meeting room/booked")).to_be_visible()


def test_keyboard_alone_reaches_a_value(console):
    page = console.open()
    expect(console.row("kitchen/temperature")).to_be_visible()
    page.keyboard.press("Tab")
    for _ in range(20):
        if page.evaluate("document.activeElement.className") == "rows":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Home")
    for _ in range(80):
        active = page.evaluate(
            "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.dataset.path")
        if active == "kitchen/mode":
            break
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(20)
    page.keyboard.press("Enter")
    expect(page.locator(".scalar")).to_have_text("cooking")


def test_pattern_finds(console):
    page = console.open()
    page.get_by_label("Pattern of paths").fill("*/light")
    expect(page.locator(".row:visible")).to_have_count(2)
    expect(page.locator(".summary")).to_contain_text("2 found")
    assert "match=*%2Flight" in page.url or "match=*/light" in page.url


def test_filter_is_live_in_both_directions(console, server, path):
    server.set(path, {"level": 10})
    page = console.open()
    page.get_by_label("Filter by an expression").fill(f'path == "{path}" && value.level > 50')
    expect(page.locator(".summary")).to_contain_text("0 found")
    server.set(path, {"level": 60})
    expect(console.row(path)).to_be_visible()
    server.set(path, {"level": 5})
    expect(console.row(path)).to_have_count(0)


def test_mistake_in_a_filter_is_shown_at_its_place(console):
    page = console.open()
    page.get_by_label("Filter by an expression").fill("valeu > 21")
    mistake = page.locator(".mistake")
    expect(mistake).to_contain_text("did you mean 'value'")
    expect(mistake).to_contain_text("^")
    page.get_by_label("Filter by an expression").fill("")
    expect(mistake).to_be_hidden()
    expect(console.row("kitchen")).to_be_visible()


@pytest.mark.parametrize("text", ["temp", "itchen/temper", "kit**", "**/temp*", "tchen*temp"])
def test_text_that_is_no_pattern_is_found_in_paths(console, text):
    page = console.open()
    page.get_by_label("Pattern of paths").fill(text)
    expect(page.locator(".summary")).to_contain_text("in their paths")
    expect(console.row("kitchen/temperature")).to_be_visible()
    expect(console.row("hall/door")).to_have_count(0)
    page.get_by_label("Filter by an expression").fill("value > 1000.0 || value < 0.0")
    expect(console.row("kitchen/temperature")).to_have_count(0)


def test_bad_pattern_is_told(console):
    page = console.open()
    page.get_by_label("Pattern of paths").fill("a//**")
    expect(page.locator(".mistake")).to_be_visible()


def test_address_names_a_property(console):
    page = console.open("properties/office/meeting%20room/booked")
    expect(page.locator("h2").last).to_have_text("office/meeting room/booked")
    expect(page.locator(".json-size").first).to_contain_text("2")
    if console.isNarrow:
        page.get_by_role("link", name="Back to the list").click()
    expect(console.row("office/meeting room/booked")).to_be_visible()


def test_value_folds(console):
    page = console.open("properties/kitchen/light")
    tree = page.locator(".json")
    expect(tree).to_contain_text("level")
    expect(tree.get_by_text("0.6")).to_have_count(0)
    tree.locator("summary").nth(1).click()
    expect(tree.get_by_text("0.6")).to_be_visible()
    console.button("Text").click()
    expect(page.locator(".value pre")).to_contain_text('"level": 72')


def test_digits_stay_as_they_are(console, server, path):
    digits = "12345678901234567890.123456789012345678"
    page = console.open("properties/exact/number")
    expect(page.locator(".scalar")).to_have_text(digits)
    page.get_by_text("Copy as").click()
    expect(page.locator("details.card pre")).to_contain_text(f"-d '{digits}'")
    console.button("Edit").click()
    expect(page.get_by_label("Value as JSON")).to_have_value(digits)
    console.button("Cancel").click()
    server.set(path, 1)
    page.goto(f"{server.url}/console#/properties/{path}")
    expect(page.locator(".scalar")).to_have_text("1")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill("2")
    server.ask("PUT", f"properties/{path}", digits)
    console.button("Save").click()
    expect(page.locator(".conflict")).to_contain_text(digits)
    console.button("Keep theirs").click()
    expect(page.locator(".scalar")).to_have_text(digits)


def test_edit_saves(console, server, path):
    server.set(path, {"a": 1})
    page = console.open(f"properties/{path}")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill('{"a": 2, "b": [true]}')
    console.button("Save").click()
    expect(page.locator(".json")).to_contain_text("b")
    assert server.get(path) == {"a": 2, "b": [True]}


def test_saving_twice_is_no_conflict(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}")
    expect(page.locator(".scalar")).to_have_text("1")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill("2")
    page.evaluate("() => { const save = document.querySelector('.value .primary'); save.click(); save.click() }")
    expect(page.locator(".notice")).to_have_text("Saved")
    expect(page.locator(".scalar")).to_have_text("2")
    page.wait_for_timeout(500)
    expect(page.locator(".conflict")).to_have_count(0)
    expect(page.locator(".notice")).to_have_count(1)


def test_editing_keeps_the_time_to_live(console, server, path):
    server.set(path, 1, "?ttl=90s")
    page = console.open(f"properties/{path}")
    console.button("Edit").click()
    expect(page.get_by_label("Time to live")).to_have_value(re.compile(r"^[78]\ds$|^90s$"))
    expect(page.locator(".value")).to_contain_text("holds it")
    page.get_by_label("Value as JSON").fill("2")
    console.button("Save").click()
    expect(page.locator(".scalar")).to_have_text("2")
    left = page.locator(".meta time").last
    expect(left).to_have_text(re.compile(r"^[78]\d.s$"))


def test_mistake_in_json_is_told(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill("{nothing}")
    console.button("Save").click()
    expect(page.locator(".value .problem")).to_be_visible()
    assert server.get(path) == 1


def test_conflict_shows_both_and_overwrites_nothing(console, server, path):
    server.set(path, "mine before")
    page = console.open(f"properties/{path}")
    expect(page.locator(".scalar")).to_have_text("mine before")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill('"mine"')
    server.set(path, "theirs")
    expect(page.locator(".hint")).to_be_visible()
    console.button("Save").click()
    conflict = page.locator(".conflict")
    expect(conflict).to_contain_text('"theirs"')
    expect(conflict).to_contain_text('"mine"')
    assert server.get(path) == "theirs"
    console.button("Save mine").click()
    expect(page.locator(".scalar")).to_have_text("mine")
    assert server.get(path) == "mine"


def test_conflict_with_a_deletion(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill("2")
    server.delete(path)
    console.button("Save").click()
    expect(page.locator(".conflict")).to_contain_text("deleted")
    console.button("Keep theirs").click()
    expect(page.locator(".value")).to_contain_text("gone")
    assert server.get(path) is None


def unsaved(console, server, path):
    """A page with a value that was changed and is not saved."""
    server.set(path, 1)
    page = console.open()
    expect(page.locator(".state")).to_have_text("Live")
    page.goto(f"{server.url}/console#/properties/{path}")
    console.button("Edit").click()
    page.get_by_label("Value as JSON").fill("2")
    return page


@pytest.mark.parametrize("leave", ["view", "row", "back", "escape"])
def test_what_is_not_saved_is_not_lost_without_asking(console, server, path, leave):
    page = unsaved(console, server, path)

    def go():
        if leave == "view":
            page.get_by_role("navigation").get_by_role("link", name="Server").click()
        elif leave == "row":
            page.evaluate("location.hash = '#/properties/kitchen/mode'")
        elif leave == "back":
            page.go_back()
        else:
            page.get_by_label("Value as JSON").press("Escape")

    for answer in ("Cancel", "Leave"):
        go()
        expect(page.get_by_role("dialog")).to_contain_text("Leave without saving?")
        assert page.url.endswith(path)
        page.get_by_role("dialog").get_by_role("button", name=answer).click()
        if answer == "Cancel":
            expect(page.get_by_label("Value as JSON")).to_have_value("2")
    expect(page.get_by_label("Value as JSON")).to_have_count(0)
    if leave != "escape":
        assert not page.url.endswith(path)
    assert server.get(path) == 1


def test_nothing_is_asked_when_nothing_would_be_lost(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}")
    console.button("Edit").click()
    expect(page.get_by_label("Value as JSON")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Server").click()
    expect(page).to_have_title("Server · Signal Server")


def test_question_goes_with_what_it_is_about(console, server, path):
    server.set(path, 1)
    page = console.open()
    expect(page.locator(".state")).to_have_text("Live")
    page.goto(f"{server.url}/console#/properties/{path}")
    expect(page.locator(".scalar")).to_have_text("1")
    console.button("Delete").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert server.get(path) == 1


def test_delete_of_a_value_that_has_changed_meanwhile(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}")
    expect(page.locator(".scalar")).to_have_text("1")
    console.button("Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{path} is 1")
    expect(dialog.locator(".hint")).to_be_hidden()
    server.set(path, 2)
    expect(dialog.locator(".hint")).to_be_visible()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("You saw 1, now it is 2")
    assert server.get(path) == 2
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert server.get(path) == 2


def test_delete_asks_first(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}")
    expect(page.locator(".scalar")).to_have_text("1")
    console.button("Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert server.get(path) == 1
    console.button("Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".value")).to_contain_text("gone")
    assert server.get(path) is None


def test_make_a_property(console, server, path):
    page = console.open()
    console.button("New property").click()
    page.get_by_label("Path").last.fill(path)
    page.get_by_label("Value").last.fill('{"made": true}')
    console.button("Create").click()
    expect(page.locator(".json")).to_contain_text("made")
    assert server.get(path) == {"made": True}


def test_make_does_not_overwrite(console, server, path):
    server.set(path, "before")
    page = console.open()
    console.button("New property").click()
    page.get_by_label("Path").last.fill(path)
    page.get_by_label("Value").last.fill("1")
    console.button("Create").click()
    expect(page.get_by_role("dialog")).to_contain_text("already")
    assert server.get(path) == "before"


def test_formula_has_its_inputs(console):
    page = console.open("properties/kitchen/fahrenheit")
    card = page.get_by_label("Formula")
    expect(card).to_contain_text('properties["kitchen/temperature"] * 1.8')
    card.get_by_role("link", name="kitchen/temperature").click()
    expect(page.locator(".scalar")).to_have_text("21.5")


def test_time_to_live_counts_down(console, server, path):
    server.set(path, "soon", "?ttl=90s")
    page = console.open(f"properties/{path}")
    left = page.locator(".meta time").last
    expect(left).to_have_text(re.compile(r"^[78]\d.s$"))


def test_watchers_are_told_without_this_page(console, server, path):
    server.set(path, 1)
    page = console.open(f"properties/{path}?match={path.split('/')[0]}/**")
    expect(page.locator(".meta")).to_contain_text("Others watching")
    page.wait_for_timeout(5500)
    expect(page.locator(".meta")).to_contain_text("Others watching0")
    with urllib.request.urlopen(f"{server.url}/events?match={path}", timeout=20):
        expect(page.locator(".meta")).to_contain_text("Others watching1")


def test_changes_are_listed(console, server, path):
    server.set(path, "one")
    page = console.open(f"properties/{path}")
    expect(page.locator(".changes")).to_contain_text('"one"')
    server.set(path, "two")
    server.delete(path)
    expect(page.locator(".changes")).to_contain_text("deleted")


def test_chart_of_numbers(console, server, path):
    server.set(path, 10)
    page = console.open(f"properties/{path}")
    chart = page.locator(".chart canvas")
    expect(chart).to_be_visible()
    server.set(path, 20)
    chart.focus()
    page.keyboard.press("End")
    expect(page.locator(".chart-tip")).to_contain_text("20")


@pytest.mark.parametrize("pair", [(21.5, 21.500000000000004), (10 ** 17, 10 ** 17 + 16)], ids=str)
def test_chart_of_numbers_that_hardly_differ(console, server, path, pair):
    server.set(path, pair[0])
    page = console.open(f"properties/{path}")
    expect(page.locator(".chart canvas")).to_be_visible()
    server.set(path, pair[1])
    # A page that goes on counting answers nothing.
    expect(page.locator(".changes tr")).to_have_count(3)
    page.locator(".chart canvas").focus()
    page.keyboard.press("End")
    expect(page.locator(".chart-tip")).to_be_visible()


def test_chart_of_a_member_and_of_another_property(console, server, path):
    server.set(path, {"a": 1, "b": {"c": 2}})
    page = console.open(f"properties/{path}")
    page.get_by_role("button", name="+ /b/c").click()
    expect(page.locator(".legend")).to_contain_text("/b/c")
    add = page.get_by_label("Add another property")
    add.fill("kitchen/temperature")
    add.press("Enter")
    expect(page.locator(".legend")).to_contain_text("kitchen/temperature")
    page.get_by_role("button", name="Remove kitchen/temperature").click()
    expect(page.locator(".legend")).not_to_contain_text("kitchen/temperature")


def test_history_is_behind_the_chart(console):
    page = console.open("properties/kept/power")
    expect(page.get_by_role("button", name="24 h")).to_be_visible()
    page.get_by_role("button", name="1 h", exact=True).click()
    expect(page.get_by_role("button", name="1 h", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".changes")).to_contain_text("1820")


def at(seconds):
    """A time from now, as the server writes it."""
    return datetime.fromtimestamp(time.time() + seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def painted(page, shares):
    """How many pixels of the chart's columns at these shares of its span are in the colour of the band or of the line."""
    return page.locator(".chart canvas").evaluate("""(canvas, shares) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
      return shares.map((share) => {
        const x = Math.round((52 + share * (canvas.clientWidth - 66)) * devicePixelRatio)
        let number = 0
        for (let i = x * 4; i < data.length; i += canvas.width * 4) {
          if (data[i + 3] > 0 && data[i + 1] > data[i] + 60) number += 1
        }
        return number / devicePixelRatio
      })
    }""", shares)


def reading(page, share):
    """What the chart tells of this share of its span."""
    box = page.locator(".chart canvas").bounding_box()
    page.mouse.move(box["x"] + 52 + share * (box["width"] - 66), box["y"] + box["height"] / 2)
    return page.locator(".chart-tip b")


def test_history_goes_on_behind_the_last_change(console, server):
    """Values of some seconds, nine minutes ago, then another one, a deletion, and one that stays."""
    path = f"kept/{secrets.token_hex(4)}"
    server.set(path, 25)
    start = at(-540)
    rows = [[at(-540), 26, 18, 25, 21, 18, 25], *([at(second), 0, 25, 25, 25, 25, 25] for second in range(-530, -300, 10)),
            [at(-300), 1, 25, 25, 25, 25, 25], *([at(second), 0, 20, 20, 20, 20, 20] for second in range(-200, 0, 10))]

    def change_times(socket):
        told = socket.connect_to_server()
        told.on_message(lambda text: socket.send(re.sub(r'"time":"[^"]*"', f'"time":"{start}"', text)))

    page = console.page
    page.route_web_socket(re.compile(r"/events"), change_times)
    page.route(re.compile(rf"/history/{path}\?.*step="), lambda route: route.fulfill(json={"rows": rows}))
    console.open(f"properties/{path}")
    expect(console.button("10 min")).to_have_attribute("aria-pressed", "true")
    expect(reading(page, 0.5 - 0.1)).to_have_text("25")
    # Without a bucket there was no value, and afterwards there is another one.
    expect(reading(page, 0.6)).to_have_text("–")
    expect(reading(page, 0.9)).to_have_text("20")
    # Least and greatest values are those of their ten seconds, which have moved by what has passed since.
    band = [share / 1000 for share in range(52, 113, 4)]
    numbers = painted(page, band + [0.2, 0.3, 0.4, 0.6, 0.8, 0.95])
    assert max(numbers[:len(band)]) > 20 and max(numbers[len(band):]) < max(numbers[:len(band)]) / 2


def test_what_comes_is_drawn_behind_the_history(console, server):
    path = f"kept/{secrets.token_hex(4)}"
    server.set(path, 25)
    page = console.open(f"properties/{path}")
    expect(console.button("10 min")).to_have_attribute("aria-pressed", "true")
    expect(reading(page, 1)).to_have_text("25")
    server.set(path, 30)
    expect(reading(page, 1)).to_have_text("30")
    server.delete(path)


def test_copy_as(console, server, path):
    server.set(path, 5)
    page = console.open(f"properties/{path}")
    page.get_by_text("Copy as").click()
    card = page.locator("details.card")
    expect(card.locator("pre")).to_contain_text(f"/properties/{path}")
    for name, text in (("watch", "signal-server watch"), ("JavaScript", "client.property(")):
        card.get_by_role("button", name=name).click()
        expect(card.locator("pre")).to_contain_text(text)
    card.get_by_role("button", name="Copy").click()
    expect(page.locator(".notice")).to_contain_text("Copied")
    assert f'client.property({json.dumps(path)})' in page.evaluate("navigator.clipboard.readText()")


def set_many(server):
    if server.get("many/0") is None:
        for start in range(0, 3000, 1000):
            operations = [{"op": "set", "path": f"many/{number}", "value": number} for number in range(start, start + 1000)]
            server.ask("POST", "transactions", {"operations": operations})


def test_many_siblings_are_not_all_in_the_document(console, server):
    set_many(server)
    page = console.open("properties?match=many/*")
    expect(console.row("many/0")).to_be_attached()
    for _ in range(4):
        page.locator(".rows").evaluate("(rows) => { rows.scrollTop = rows.scrollHeight }")
        page.wait_for_timeout(400)
    assert page.locator(".row").count() < 80
    assert page.locator(".rows-space").evaluate("(space) => space.clientHeight") > 60_000


def test_scrolling_keeps_its_subscriptions(console, server):
    set_many(server)
    page = console.open("properties?match=many/*")
    expect(console.row("many/0").locator(".row-value")).to_have_text("0")
    console.sent.clear()
    rows = page.locator(".rows")
    height = rows.evaluate("(rows) => rows.querySelector('.row').offsetHeight")
    for number in range(1, 6):
        rows.evaluate("(rows, top) => { rows.scrollTop = top }", number * height)
        page.wait_for_timeout(250)
    assert [message for message in console.sent if "unsubscribe" in message] == []


def test_values_of_rows_in_sight_stay(console, server):
    set_many(server)
    page = console.open("properties?match=many/*")
    rows = page.locator(".rows")
    expect(console.row("many/0").locator(".row-value")).to_have_text("0")
    # The view forgets values when it knows too many; those that are shown are not among them.
    page.evaluate("""async () => {
      const { default: PropertiesView } = await import("./console/properties.js")
      window.view = new PropertiesView()
      document.querySelector("main").replaceChildren(view.element)
      view.open("", new URLSearchParams("match=many/*"))
    }""")
    expect(console.row("many/0").locator(".row-value")).to_have_text("0")
    page.evaluate("() => { for (let n = 0; n < 5001; n += 1) view.sight.values.set('other/' + n, { value: n }) }")
    rows.evaluate("(rows) => { rows.scrollTop += 10 }")
    page.wait_for_timeout(500)
    rows.evaluate("(rows) => { rows.scrollTop = 0 }")
    expect(console.row("many/0").locator(".row-value")).to_have_text("0")
    assert page.evaluate("view.sight.values.size") < 5000
