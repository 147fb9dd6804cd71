# SPDX-License-Identifier: MIT
"""What the client offers, against a real server."""

import asyncio
import contextlib
import subprocess

import pytest
from real_server import Proxy, Server
from support import BINARY, needs_server, until

from signal_client import SignalError, connect
from signal_client.sync import connect as connect_sync

pytestmark = needs_server


@pytest.fixture
def server():
    server = Server(BINARY)
    yield server
    server.remove()


def running(test):
    """A test that is a coroutine, with a client of a server of its own, and nothing that fails behind its back."""

    def run(server):
        errors = []

        async def whole():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
            async with connect(server.url, on_error=errors.append) as client:
                await asyncio.wait_for(test(server, client), 20)

        asyncio.run(whole())
        assert errors == []

    return run


@running
async def test_set_get_delete(server, client):
    written = await client.set("kitchen/temperature", 21.5)
    assert written.changed and await client.get("kitchen/temperature") == 21.5
    entry = await client.entry("kitchen/temperature")
    assert entry.cursor == written.cursor
    with pytest.raises(SignalError) as refusal:
        await client.set("kitchen/temperature", 1, if_none_match="*")
    assert (refusal.value.code, refusal.value.outcome) == ("precondition_failed", "refused")
    assert refusal.value.current["value"] == 21.5
    assert (await client.set("kitchen/temperature", 22, if_match=entry.cursor)).changed
    assert (await client.patch("kitchen/light", {"on": True})).changed
    await client.patch("kitchen/light", [{"op": "replace", "path": "/on", "value": False}])
    assert await client.get("kitchen/light") == {"on": False}
    await client.define("kitchen/fahrenheit", 'properties["kitchen/temperature"] * 1.8 + 32.0')
    assert await client.get("kitchen/fahrenheit") == pytest.approx(71.6)
    operations = [{"op": "set", "path": "a", "value": 1}, {"op": "delete", "path": "kitchen/light"}]
    assert (await client.transaction(operations)).changed == 2
    await client.delete("a")
    assert await client.get("a") is None and await client.get("a", 7) == 7
    assert (await client.set("short", 1, ttl="60s")).expires
    with pytest.raises(ValueError):
        await client.set("a", float("nan"))
    with pytest.raises(ValueError):
        await client.set("a", "\ud800")
    assert (await client.request({"type": "ping"}))["type"] == "ok"


@running
async def test_watch(server, client):
    await client.set("kitchen/a", 1)
    await client.set("kitchen/b", 25)
    watch = client.watch("kitchen/**", where="value > 20")
    changes = aiter(watch)
    first = await anext(changes)
    assert (first.type, first.path, first.value, dict(watch.items())) == ("didSet", "kitchen/b", 25, {"kitchen/b": 25})
    server.request("PUT", "/properties/kitchen/a", 30)
    entered = await anext(changes)
    assert (entered.path, entered.entered, entered.old_value) == ("kitchen/a", True, 1)
    server.request("PUT", "/properties/kitchen/b", 2)
    left = await anext(changes)
    assert (left.type, left.op, left.value, left.old_value) == ("didExit", "set", 2, 25)
    assert list(watch) == ["kitchen/a"] and watch["kitchen/a"] == 30 and "kitchen/b" not in watch and len(watch) == 1
    again = aiter(watch)
    assert (await anext(again)).path == "kitchen/a"
    watch.cancel()
    with pytest.raises(StopAsyncIteration):
        await anext(again)
    with pytest.raises(SignalError, match="valeu"):
        async for _ in client.watch("kitchen/**", where="valeu > 20"):
            pass
    async with client.watch("kitchen/a", pointer="/x") as empty:
        assert len(empty) == 0


@running
async def test_a_slow_iterator_gets_the_newest(server, client):
    watch = client.watch("count")
    changes = aiter(watch)
    for first in range(0, 12_000, 1000):
        await asyncio.gather(*(client.set("count", first + number) for number in range(1000)))
    seen = [await anext(changes)]
    while seen[-1].value != 11_999:
        seen.append(await anext(changes))
    assert len(seen) < 12_000 and all(one.value == two.old_value for one, two in zip(seen, seen[1:]))


@running
async def test_properties(server, client):
    members = [client.property(f"p/{number}") for number in range(70)]
    shown = {}
    for number, member in enumerate(members):
        member.subscribe(lambda value, number=number: shown.__setitem__(number, value))
    await members[69].set("x")
    await until(lambda: all(member.state == "live" for member in members))
    assert shown[69] == "x" and members[0].value is None and not members[0].exists
    # 70 properties began in one turn.
    assert len(client._subscriptions) == 3
    other = client.property("p/3")
    assert other is members[3]
    await asyncio.gather(*(members[1].update(lambda value: (value or 0) + 1) for _ in range(20)))
    await until(lambda: shown[1] == 20)
    refused = asyncio.create_task(members[1].set(99, if_="value == 0"))
    await asyncio.sleep(0)
    assert members[1].value == 99
    with pytest.raises(SignalError):
        await refused
    assert members[1].value == 20 and shown[1] == 20
    for path in ("p/2", "p/new"):
        values = aiter(client.property(path))
        assert await anext(values) is None
        server.request("PUT", f"/properties/{path}", [1])
        assert await anext(values) == [1]
        await values.aclose()
    with pytest.raises(SignalError, match="segment"):
        await anext(aiter(client.property("p//2")))


@running
async def test_one_path_that_is_none_does_not_stop_the_others(server, client):
    bad, good = client.property("a//b"), client.property("good")
    bad.subscribe(lambda _: None)
    good.subscribe(lambda _: None)
    await client.set("good", 1)
    await until(lambda: good.value == 1 and bad.error is not None)
    assert bad.error.code == "bad_pattern"


@running
async def test_signals(server, client):
    listener = client.listen("doorbell/**")
    messages = aiter(listener)
    await listener.ready()
    await client.send("doorbell/front", {"floor": 3})
    message = await anext(messages)
    assert (message.path, message.message, message.remembered) == ("doorbell/front", {"floor": 3}, False)
    await client.send("doorbell/back", remember=True)
    later = await anext(aiter(client.listen("doorbell/**")))
    assert (later.path, later.message, later.remembered) == ("doorbell/back", None, True)


@running
async def test_presence(server, client):
    watch = client.watch("presence/*")
    await watch.ready()
    async with connect(server.url) as ann:
        await ann.set("presence/ann", "here", hold=True)
        await ann.on_disconnect([{"op": "set", "path": "presence/last", "value": "ann"}])
        await until(lambda: "presence/ann" in watch)
    await until(lambda: dict(watch.items()) == {"presence/last": "ann"})


@running
async def test_held_by_merge_patches_and_transactions(server, client):
    proxy = Proxy(server)
    url = await proxy.listen()
    try:
        async with connect(url, min_delay=0.05, max_delay=0.1) as other:
            await other.patch("h/merge", {"on": True}, hold=True, timeout=5)
            await other.set("h/patch", [1])
            await other.patch("h/patch", [{"op": "add", "path": "/-", "value": 2}], hold=True)
            held = {"op": "set", "value": 1, "hold": True}
            stays = {"op": "set", "path": "h/stays", "value": 1}
            await other.transaction([held | {"path": "h/one"}, held | {"path": "h/two", "always": True}, stays])
            await other.transaction([held | {"path": "h/lock", "ifNoneMatch": "*"}, held | {"path": "h/locked"}])
            before = {"h/lock": 1, "h/locked": 1, "h/patch": [1, 2]}
            after = {"h/merge": {"on": True}, "h/one": 1, "h/stays": 1, "h/two": 1}
            assert server.values("h/*") == before | after
            async with client.watch("h/merge") as watch:
                kinds = []
                watch.subscribe(lambda _, changes: kinds.extend(change.type for change in changes))
                proxy.cut()
                await until(lambda: len(kinds) == 2, lambda: kinds)
                assert kinds == ["didExpire", "didSet"]
            # Answered behind what is held.
            await other.get("h")
            assert server.values("h/*") == after
    finally:
        await proxy.close()


@running
async def test_a_client_that_is_closed_for_good(server, client):
    async with connect(server.url) as other:
        seen = []
        members = [other.property(path) for path in ("closed/a", "closed/b")]
        for member in members:
            await other.set(member.path, 1)
        for member in members:
            member.subscribe(seen.append)
        await until(lambda: all(member.state == "live" for member in members))
        values = aiter(members[0])
        assert await anext(values) == 1
        async with other.watch("closed/*"):
            connections = server.request("GET", "/server/connections")["connections"]
            identifier = next(one["id"] for one in connections for each in one.get("subscriptions", [])
                              if "closed/*" in each.get("match", []))
            server.request("DELETE", f"/server/connections/{identifier}")
            await until(lambda: other.state == "closed")
        assert seen == [None, None, 1, 1] and [member.value for member in members] == [1, 1]
        assert [member.error for member in members] == [other.error] * 2
        reading = [anext(values), anext(aiter(other.property("closed/c"))), anext(aiter(other.watch("**"))),
                   other.watch("**").ready(), other.watch("**").__aenter__()]
        for each in reading:
            with pytest.raises(SignalError) as error:
                await asyncio.wait_for(each, 5)
            assert error.value is other.error and error.value.close_code == 4800
        with pytest.raises(SignalError, match="4800"):
            await other.get("a")


@running
async def test_a_watch_that_ends_before_it_is_live_is_never_ready(server, client):
    cancelled = client.watch("**")
    cancelled.cancel()
    closed = client.watch("**")
    await client.close()
    for watch in (cancelled, closed, client.watch("**")):
        with pytest.raises(SignalError) as error:
            await watch.ready()
        assert error.value.code == "closed" and watch.state == "ended"
    assert cancelled.error is None and closed.error is None


def test_a_client_that_was_not_begun():
    async def asynchronous():
        client = connect("http://127.0.0.1:1")
        for use in (lambda: client.watch("**"), lambda: client.property("a").subscribe(print)):
            with pytest.raises(RuntimeError, match="async with"):
                use()
        with pytest.raises(RuntimeError, match="async with"):
            await client.get("a")
        await client.close()
        with pytest.raises(SignalError, match="closed"):
            await client.get("a")

    asyncio.run(asyncio.wait_for(asynchronous(), 5))
    client = connect_sync("http://127.0.0.1:1")
    for use in (lambda: client.get("a"), lambda: client.watch("**"), lambda: client.listen("**")):
        with pytest.raises(RuntimeError, match="with connect"):
            use()
    client.close()
    with pytest.raises(SignalError, match="closed"):
        client.get("a")


@running
async def test_functions_that_are_async_are_refused(server, client):
    async def called(*_):
        pass

    watch, listener, member = client.watch("**"), client.listen("**"), client.property("a")
    for subscribe in (client.subscribe, watch.subscribe, listener.subscribe, member.subscribe):
        with pytest.raises(TypeError, match="async"):
            subscribe(called)
    with pytest.raises(TypeError, match="async"):
        connect(server.url, on_error=called)


@running
async def test_limits_and_ends(server, client):
    with pytest.raises(SignalError) as error:
        await client.set("a", "x" * 2_000_000)
    assert (error.value.code, error.value.outcome) == ("body_too_large", "unsent")
    assert (await client.set("a", "x" * 1_000_000)).changed
    waiting = asyncio.create_task(client.get("a"))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(SignalError) as error:
        await waiting
    assert error.value.code in ("disconnected", "closed") and client.state == "closed"
    with pytest.raises(SignalError, match="closed"):
        await client.get("a")


def token(folder, *arguments):
    """What the verb `token` puts out, for the file in the folder."""
    command = [BINARY, "token", arguments[0], "--file", f"{folder}/tokens.json", *arguments[1:]]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_tokens(tmp_path):
    first = token(tmp_path, "create", "--id", "bob")
    remaining = [token(tmp_path, "create", "--id", name) for name in ("ann", "ann-later")]
    server = Server(BINARY, False, "--auth-tokens", f"{tmp_path}/tokens.json", "--auth-required", "true")

    async def revoked():
        async with connect(server.url, token=first) as client:
            await client.set("a", 1)
            token(tmp_path, "revoke", "bob")
            await until(lambda: client.state == "closed")
            assert client.error.close_code == 4401
        async with connect(server.url, token=lambda: remaining.pop(0)) as client:
            assert await client.get("a") == 1
            token(tmp_path, "revoke", "ann")
            await until(lambda: not remaining)
            assert await client.get("a") == 1
        async with connect(server.url) as client:
            await until(lambda: client.state == "closed")
            assert client.error.close_code == 4401

    try:
        asyncio.run(revoked())
    finally:
        server.remove()


def test_not_a_server():
    with pytest.raises(ValueError):
        connect("ftp://localhost")

    async def nobody():
        async with connect("http://127.0.0.1:1", timeout=0.2, min_delay=0.01) as client:
            with contextlib.suppress(SignalError):
                await client.get("a")
            assert client.state == "connecting"

    asyncio.run(nobody())


def test_sync(server):
    with connect_sync(server.url) as client:
        assert client.set("a/x", 1).changed
        assert client.get("a/x") == 1 and client.get("a/y", 7) == 7 and client.state == "live"
        assert client.update("a/x", lambda value: value + 1).changed
        with client.watch("a/**") as watch:
            assert watch.snapshot() == {"a/x": 2}
            client.transaction([{"op": "set", "path": "a/y", "value": 5}, {"op": "delete", "path": "a/x"}])
            taken = []
            for change in watch:
                taken.append((change.type, change.path))
                if len(taken) == 3:
                    break
        assert taken == [("didSet", "a/x"), ("didSet", "a/y"), ("didDelete", "a/x")]
        assert list(client.watch("a/**", take=1))[0].path == "a/y"
        messages = client.listen("bell")
        client.send("bell", "ring")
        assert next(iter(messages)).message == "ring"
        with pytest.raises(SignalError, match="no property|not"):
            client.delete("a/never")
    for use in (lambda: client.get("a"), lambda: client.watch("a"), lambda: watch.snapshot()):
        with pytest.raises(SignalError, match="closed"):
            use()
