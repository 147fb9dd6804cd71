# SPDX-License-Identifier: MIT
"""The client: one connection that comes back by itself, and everything that goes over it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal
from weakref import WeakValueDictionary

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from .errors import SignalError, failure
from .feeds import Cancel, Group, Listener, Listeners, Property, Watch, invoke, refuse_coroutine
from .fold import Entry, Subscription
from .wire import Pending, Written, address, advice, delay_in_reason, named_delay

State = Literal["connecting", "live", "stale", "closed"]
Token = str | Callable[[], str | Awaitable[str]]

PATTERNS_OF_SUBSCRIPTION = 32
MESSAGE_BYTES = 64 * 1024 * 1024


def connect(
    url: str,
    *,
    token: Token | None = None,
    timeout: float = 10.0,
    silence: float = 20.0,
    min_delay: float = 0.5,
    max_delay: float = 30.0,
    on_error: Callable[[Exception], None] | None = None,
) -> Client:
    """A client of the server at this address; `async with` begins to connect, and closes it.

    - token: a token, or a function that gets one, for each connection and again before its token ends
    - timeout: seconds for the reply to a command, and for the server to say who it is
    - silence: seconds after which a silent server is asked whether it is there
    - min_delay, max_delay: before another connection, the first and the longest; half of each is random
    - on_error: called with what fails where nobody waits, such as a token that cannot be had
    """
    return Client(url, token, timeout, silence, min_delay, max_delay, on_error)


class Client:
    """Commands wait for a connection; watches are subscribed again on each one, and resume where they were."""

    def __init__(
        self,
        url: str,
        token: Token | None,
        timeout: float,
        silence: float,
        min_delay: float,
        max_delay: float,
        on_error: Callable[[Exception], None] | None,
    ) -> None:
        self.error: Exception | None = None
        refuse_coroutine(on_error)
        self._url = address(url)
        self._token = token
        self._timeout = timeout
        self._silence = silence
        self._delays = (min_delay, max_delay)
        self._on_error = on_error
        self._task: asyncio.Task[None] | None = None
        self._outgoing: asyncio.Queue[str] | None = None
        self._abandoned: asyncio.Future[tuple[int, Exception | None]] | None = None
        self._is_ready = False
        self._has_been_ready = False
        self._shown_state: State = "connecting"
        self._listeners = Listeners()
        self._attempts = 0
        self._opened_at = 0.0
        self._heard_at = 0.0
        self._epoch = ""
        self._message_bytes = MESSAGE_BYTES
        self._next_id = 1
        self._waiting: dict[Pending, None] = {}
        self._sent: dict[int, Pending] = {}
        self._subscriptions: dict[Subscription, None] = {}
        self._by_id: dict[int, Subscription] = {}
        self._properties: WeakValueDictionary[str, Property] = WeakValueDictionary()
        self._joining: dict[Property, None] = {}
        # By path; what is to be done at the end of a connection has none.
        self._held: dict[str | None, Mapping[str, Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Client:
        self._task = asyncio.create_task(self._run(), name=f"signal_client {self._url}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection; commands whose reply has not come fail."""
        self._end(None)
        tasks = [*self._tasks, *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -------------------------------------------------------------------------------------------- what it is

    @property
    def state(self) -> State:
        """connecting: nothing is known yet. live. stale: what is shown was so when the connection was lost. closed."""
        if self._shown_state == "closed":
            return "closed"
        if self._is_ready and all(subscription.state != "stale" for subscription in self._subscriptions):
            return "live"
        return "stale" if self._has_been_ready else "connecting"

    def subscribe(self, fn: Callable[[State], None]) -> Cancel:
        """Calls `fn` with the state, at once and whenever it changes; returns what stops that."""
        cancel = self._listeners.add(fn)
        invoke(fn, self.state)
        return cancel

    # -------------------------------------------------------------------------------------------- properties

    def property(self, path: str) -> Property:
        """The property at a path; the same object, while it is in use."""
        found = self._properties.get(path)
        if found is None:
            found = self._properties[path] = Property(self, path)
        return found

    def watch(
        self,
        match: str | Sequence[str],
        *,
        where: str | None = None,
        initial: bool | None = None,
        exit: bool | None = None,
        old_value: bool | None = None,
        take: int | None = None,
        fields: Sequence[str] | None = None,
        pointer: str | None = None,
        bookmark: float | None = None,
        mode: Literal["auto", "all", "latest"] | None = None,
        max_rate: float | None = None,
        deadband: float | str | None = None,
    ) -> Watch:
        """A live mapping of all that matches, and its changes (§3.2 has the options)."""
        delivery = _present(mode=mode, maxRate=max_rate, deadband=deadband)
        # Without these an event cannot be folded.
        needed = None if fields is None else list(dict.fromkeys(["path", "value", "revision", *fields]))
        command = _present(
            match=_patterns(match), where=where, initial=initial, exit=exit, oldValue=old_value, take=take,
            fields=needed, pointer=pointer, bookmark=bookmark, delivery=delivery or None)
        return Watch(self, command)

    def listen(self, match: str | Sequence[str], *, where: str | None = None, initial: bool | None = None) -> Listener:
        """Messages of the signals that match."""
        return Listener(self, _present(signals=_patterns(match), where=where, initial=initial))

    # -------------------------------------------------------------------------------------------- commands

    async def get(self, path: str, default: Any = None) -> Any:
        """The value of a property, or `default` when there is none."""
        entry = await self.entry(path)
        return default if entry is None else entry.value

    async def entry(self, path: str) -> Entry | None:
        """A property with its cursor; None when there is none."""
        try:
            return self._entry(await self.request({"type": "get", "path": path}))
        except SignalError as error:
            if error.code == "not_found":
                return None
            raise

    async def set(
        self,
        path: str,
        value: Any,
        *,
        if_match: str | None = None,
        if_none_match: Literal["*"] | None = None,
        if_: str | None = None,
        always: bool | None = None,
        ttl: str | None = None,
        hold: bool | None = None,
        sync: bool | None = None,
        timeout: float | None = None,
    ) -> Written:
        """Sets a property (§2.1, §3.4).

        With `hold` it goes when the client goes: it is set again on each new connection, unless there is a condition,
        because then it may be another's by that time. So is a merge patch, and what a transaction without a condition
        holds; a JSON Patch is not.
        """
        options = {"if_match": if_match, "if_none_match": if_none_match, "if_": if_, "always": always, "ttl": ttl,
                   "hold": hold, "sync": sync, "timeout": timeout}
        return await self._set(path, value, options)

    async def delete(
        self,
        path: str,
        *,
        if_match: str | None = None,
        if_: str | None = None,
        sync: bool | None = None,
        timeout: float | None = None,
    ) -> Written:
        return await self._delete(path, {"if_match": if_match, "if_": if_, "sync": sync, "timeout": timeout})

    async def patch(self, path: str, patch: Any, **options: Any) -> Written:
        """Changes a part: a list is a JSON Patch (RFC 6902), anything else a merge patch (RFC 7396)."""
        member = "operations" if isinstance(patch, list) else "merge"
        return await self._write({"type": "patch", "path": path, member: patch}, options)

    async def define(self, path: str, formula: str, **options: Any) -> Written:
        """Makes it a computed property."""
        return await self._write({"type": "define", "path": path, "formula": formula}, options)

    async def transaction(self, operations: Sequence[Mapping[str, Any]], **options: Any) -> Written:
        """All operations (§2.3) or none, as one revision; `changed` is how many properties have."""
        return await self._write({"type": "transaction", "operations": list(operations)}, options)

    async def send(
        self, path: str, message: Any = None, *, remember: bool | None = None, sync: bool | None = None,
        timeout: float | None = None,
    ) -> None:
        """Sends a message through a signal."""
        command = {"type": "send", "path": path, "message": message, **_present(remember=remember, sync=sync)}
        await self.request(command, timeout=timeout)

    async def on_disconnect(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """What the server does when the connection ends (§3.6); registered again on each new one, until replaced."""
        command = {"type": "onDisconnect", "operations": list(operations)}
        await self.request(command)
        self._hold(command, is_kept=len(operations) > 0)

    async def request(self, command: Mapping[str, Any], *, timeout: float | None = None) -> Mapping[str, Any]:
        """Any command of §3, without its id; its reply."""
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._submit(command, timeout, lambda reply: _resolve(future, reply), lambda error: _reject(future, error))
        return await future

    async def _set(
        self, path: str, value: Any, options: Mapping[str, Any],
        settle: Callable[[Written | Exception], None] | None = None,
    ) -> Written:
        return await self._write({"type": "set", "path": path, "value": value}, options, settle)

    async def _delete(
        self, path: str, options: Mapping[str, Any], settle: Callable[[Written | Exception], None] | None = None,
    ) -> Written:
        return await self._write({"type": "delete", "path": path}, options, settle)

    async def _write(
        self, command: Mapping[str, Any], options: Mapping[str, Any],
        settle: Callable[[Written | Exception], None] | None = None,
    ) -> Written:
        """`settle` is called as the reply comes, before the events behind it."""
        future: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
        sent = {**command, **_wire(options)}

        def resolve(reply: Mapping[str, Any]) -> None:
            # One that is refused changes nothing here either.
            writes = [sent] if "path" in sent else [_command(operation) for operation in sent["operations"]]
            is_kept = not any(map(_is_conditional, writes))
            for write in writes:
                self._hold(write, is_kept=is_kept and bool(write.get("hold")))
            written = Written(self._cursor(reply["revision"]), reply["changed"], reply.get("expires"))
            if settle:
                settle(written)
            _resolve(future, written)

        def reject(error: Exception) -> None:
            if settle:
                settle(error)
            _reject(future, error)

        try:
            self._submit(sent, options.get("timeout"), resolve, reject)
        except (TypeError, ValueError) as error:
            # The value is none that JSON can hold.
            if settle:
                settle(error)
            raise
        return await future

    def _submit(
        self, command: Mapping[str, Any], timeout: float | None, resolve: Callable[[Mapping[str, Any]], None],
        reject: Callable[[Exception], None],
    ) -> None:
        pending = Pending(command["type"], _text(command), resolve, reject)
        if self._shown_state == "closed":
            reject(self._closed())
            return
        self._require_begun()
        seconds = self._timeout if timeout is None else timeout
        pending.timer = asyncio.get_running_loop().call_later(seconds, self._expire, pending, seconds)
        if self._is_ready:
            self._transmit(pending)
        else:
            self._waiting[pending] = None

    def _expire(self, pending: Pending, seconds: float) -> None:
        self._waiting.pop(pending, None)
        if pending.id is not None:
            self._sent.pop(pending.id, None)
        outcome: Literal["unsent", "unknown"] = "unsent" if pending.id is None else "unknown"
        pending.reject(failure("timeout", f"no reply to {pending.type} in {seconds:g} s", outcome))

    # -------------------------------------------------------------------------------------------- the connection

    async def _run(self) -> None:
        try:
            await self._connect()
        except Exception as error:
            # What the server sent is not of this protocol; those who wait have to know.
            self._report(error)
            self._end(error)

    async def _connect(self) -> None:
        """Connects, again and again, until there is a reason not to."""
        while self._shown_state != "closed":
            token: str | None = None
            code, reason, named = 1006, None, 0.0
            try:
                token = await self._proof()
            except Exception as error:
                self._report(error)
            else:
                code, reason, named = await self._connection(token)
            was_ready = self._is_ready
            self._disconnect()
            what = advice(code)
            if what == "token" and not callable(self._token):
                what = "never"
            if what == "never":
                self._end(reason or SignalError({"code": "closed", "closeCode": code, "detail": f"closed with {code}"}))
                return
            if was_ready and time.monotonic() - self._opened_at > 5:
                self._attempts = 0
            shortest, longest = self._delays
            delay = min(longest, shortest * 2 ** min(self._attempts, 32)) * random.uniform(0.5, 1)
            # Only a connection that has lasted, or the first one, is followed by another at once.
            is_now = self._attempts == 0 and (what == "now" or (what == "token" and was_ready))
            self._attempts += 1
            self._turn()
            await asyncio.sleep(0 if is_now else max(delay, named))

    async def _connection(self, token: str | None) -> tuple[int, Exception | None, float]:
        """One connection from its begin to its end: the close code, the reason when there is another one, and the delay
        that the server has named."""
        try:
            socket = await open_socket(
                self._url, subprotocols=[Subprotocol("signal.v1.json")], open_timeout=self._timeout, ping_interval=None,
                close_timeout=self._timeout, max_size=MESSAGE_BYTES)
        except InvalidStatus as error:
            problem = _problem(error)
            # Above, a proxy may say that its server is not there.
            is_final = 400 <= problem["status"] < 500 and problem["status"] != 429
            if is_final:
                return 1008, SignalError(problem, "refused"), 0
            return 1006, None, named_delay(error.response.headers.get("Retry-After", ""))
        except InvalidURI as error:
            return 1008, error, 0
        except (OSError, TimeoutError, EOFError, InvalidHandshake, InvalidMessage):
            return 1006, None, 0
        self._outgoing = asyncio.Queue()
        self._abandoned = asyncio.get_running_loop().create_future()
        receiving = asyncio.create_task(self._receive_all(socket, token))
        others = [asyncio.create_task(part) for part in (self._send_all(socket), self._listen_for_silence())]
        until: list[asyncio.Future[Any]] = [receiving, self._abandoned]
        is_abandoned = False
        try:
            await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)
            if receiving.done():
                receiving.result()
            is_abandoned = self._abandoned.done()
            if is_abandoned:
                return *self._abandoned.result(), 0
            code = socket.protocol.close_code or 1006
            return code, None, delay_in_reason(socket.protocol.close_reason or "") if code == 4029 else 0
        finally:
            for task in (receiving, *others):
                task.cancel()
            await asyncio.gather(receiving, *others, return_exceptions=True)
            if is_abandoned:
                # A line that has broken answers no close, and the next connection does not wait for that.
                self._keep(asyncio.create_task(socket.close()))
            else:
                await socket.close()

    async def _receive_all(self, socket: ClientConnection, token: str | None) -> None:
        hello: Mapping[str, Any] | None = None
        is_proven = not token

        def proven(_: Mapping[str, Any]) -> None:
            nonlocal is_proven
            is_proven = True

        if token:
            self._prove(token, proven)
        with contextlib.suppress(ConnectionClosed):
            async for data in socket:
                self._heard_at = time.monotonic()
                for line in (data if isinstance(data, str) else data.decode()).split("\n"):
                    message = json.loads(line)
                    if message["type"] == "hello":
                        hello = message
                    else:
                        self._receive(message)
                    if hello and is_proven and not self._is_ready:
                        self._begin(hello)
                    if self._abandoned and self._abandoned.done():
                        return

    async def _send_all(self, socket: ClientConnection) -> None:
        assert self._outgoing
        with contextlib.suppress(ConnectionClosed):
            while True:
                await socket.send(await self._outgoing.get())

    async def _proof(self) -> str | None:
        if not callable(self._token):
            return self._token
        token = self._token()
        return await token if inspect.isawaitable(token) else token

    def _prove(self, token: str, resolve: Callable[[Mapping[str, Any]], None]) -> None:
        def reject(error: Exception) -> None:
            if not isinstance(error, SignalError) or error.outcome != "refused":
                return
            self._report(error)
            # Who somebody is, is said once for a connection. A refused token may be followed by a better one.
            if error.code == "identity_mismatch":
                self._abandon(4008)
            elif not self._is_ready:
                self._abandon(4000 if callable(self._token) or error.is_temporary else 4401, error)

        self._transmit(Pending("auth", _text({"type": "auth", "token": token}), resolve, reject))

    async def _renew(self, seconds: float) -> None:
        """At half of what is left: a short token is not asked for again and again, and a failure has another chance."""
        outgoing = self._outgoing
        while True:
            await asyncio.sleep(seconds / 2)
            if outgoing is not self._outgoing:
                return
            try:
                token = await self._proof()
            except Exception as error:
                self._report(error)
                seconds /= 2
                if seconds < 0.5:
                    return
                continue
            if token and outgoing is self._outgoing:
                self._prove(token, lambda _: None)
            return

    def _keep(self, task: asyncio.Task[None]) -> None:
        """Holds on to a task that nobody awaits; the loop has weak references only."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _begin(self, hello: Mapping[str, Any]) -> None:
        self._epoch = hello["epoch"]
        self._message_bytes = hello["limits"]["messageBytes"]
        self._opened_at = time.monotonic()
        self._is_ready = self._has_been_ready = True
        for command in self._held.values():
            self._repeat(command)
        for subscription in list(self._subscriptions):
            self._request(subscription)
        waiting, self._waiting = self._waiting, {}
        for pending in waiting:
            self._transmit(pending)
        self._turn()

    async def _listen_for_silence(self) -> None:
        """A broken line is silent: after some silence the server is asked, and has some time to answer."""
        is_asked = False
        while True:
            is_last = is_asked or not self._is_ready
            since = time.monotonic()
            await asyncio.sleep(self._timeout if is_last else self._silence)
            if self._heard_at >= since:
                is_asked = False
            elif is_last:
                self._abandon(1006)
                return
            else:
                self._repeat({"type": "ping"})
                is_asked = True

    def _abandon(self, code: int, reason: Exception | None = None) -> None:
        if self._abandoned and not self._abandoned.done():
            self._abandoned.set_result((code, reason))

    def _disconnect(self) -> None:
        self._is_ready = False
        self._outgoing = None
        self._by_id.clear()
        sent, self._sent = self._sent, {}
        for pending in sent.values():
            pending.stop()
            detail = f"the connection ended before the reply to {pending.type}"
            pending.reject(failure("disconnected", detail, "unknown"))
        for subscription in list(self._subscriptions):
            if subscription.state == "live":
                subscription.turn("stale")

    def _end(self, reason: Exception | None) -> None:
        if self._shown_state == "closed":
            return
        self.error = reason
        self._disconnect()
        self._shown_state = "closed"
        waiting, self._waiting = self._waiting, {}
        for pending in waiting:
            pending.stop()
            pending.reject(self._closed())
        subscriptions, self._subscriptions = self._subscriptions, {}
        for subscription in subscriptions:
            subscription.turn("ended", reason)
        self._listeners.call("closed")

    def _closed(self) -> SignalError:
        return failure("closed", str(self.error or "the client is closed"), "unsent")

    def _require_begun(self) -> None:
        if self._task is None:
            raise RuntimeError("the client does not connect yet: use it within `async with connect(…) as client:`")

    def _turn(self) -> None:
        state = self.state
        if state != self._shown_state:
            self._shown_state = state
            self._listeners.call(state)

    def _report(self, error: Exception) -> None:
        if self._on_error:
            invoke(self._on_error, error)

    # -------------------------------------------------------------------------------------------- messages

    def _cursor(self, revision: int) -> str:
        return f"{self._epoch}.{revision}"

    def _entry(self, reply: Mapping[str, Any]) -> Entry:
        revision = reply["revision"]
        return Entry(reply["value"], revision, self._cursor(revision), reply.get("time"), reply.get("expires"))

    def _transmit(self, pending: Pending) -> None:
        text = f'{{"id":{self._next_id},{pending.text[1:]}'
        # The server would end the connection over it.
        if len(text) * 4 > self._message_bytes and len(text.encode()) > self._message_bytes:
            pending.stop()
            pending.reject(failure("body_too_large", f"the server takes {self._message_bytes} bytes", "unsent"))
            return
        pending.id = self._next_id
        self._next_id += 1
        self._sent[pending.id] = pending
        assert self._outgoing
        self._outgoing.put_nowait(text)

    def _hold(self, command: Mapping[str, Any], *, is_kept: bool) -> None:
        """Keeps a command for each new connection, until another one of its path succeeds."""
        self._held.pop(command.get("path"), None)
        if is_kept:
            self._held[command.get("path")] = command

    def _repeat(self, command: Mapping[str, Any]) -> None:
        """Sends what nobody waits for."""

        def reject(error: Exception) -> None:
            if isinstance(error, SignalError) and error.outcome == "refused":
                self._report(error)
                if error.is_temporary:
                    asyncio.get_running_loop().call_later(self._timeout, again, self._outgoing)

        def again(outgoing: asyncio.Queue[str] | None) -> None:
            if outgoing and outgoing is self._outgoing and self._held.get(command.get("path")) is command:
                self._repeat(command)

        self._transmit(Pending(command["type"], _text(command), lambda _: None, reject))

    def _receive(self, message: Mapping[str, Any]) -> None:
        kind = message["type"]
        if kind in ("ok", "error"):
            pending = self._sent.pop(message.get("id", 0), None)
            if pending:
                pending.stop()
                if kind == "ok":
                    pending.resolve(message)
                else:
                    pending.reject(SignalError(message["error"], "refused"))
        elif kind == "authExpires":
            if callable(self._token):
                self._keep(asyncio.create_task(self._renew(message["in"])))
        elif subscription := self._by_id.get(message.get("subscription", 0)):
            subscription.receive(message, self._epoch)
            if kind == "end":
                self._by_id.pop(message["subscription"], None)
                self._subscriptions.pop(subscription, None)
            elif kind == "live":
                self._turn()

    # -------------------------------------------------------------------------------------------- subscriptions

    def _add(self, subscription: Subscription) -> None:
        if self._shown_state == "closed":
            subscription.turn("ended", self.error or self._closed())
            return
        self._require_begun()
        self._subscriptions[subscription] = None
        if self._is_ready:
            self._request(subscription)

    def _request(self, subscription: Subscription) -> None:
        command = subscription.begin()
        if command is None:
            self._remove(subscription)
            return

        def resolve(reply: Mapping[str, Any]) -> None:
            if subscription in self._subscriptions:
                self._by_id[reply["subscription"]] = subscription
                subscription.granted(reply)
            else:
                self._unsubscribe(reply["subscription"])

        def reject(error: Exception) -> None:
            is_refused = not isinstance(error, SignalError) or error.outcome != "unknown"
            if not is_refused or subscription not in self._subscriptions:
                return
            if isinstance(error, SignalError) and error.is_temporary:
                self._report(error)
                asyncio.get_running_loop().call_later(self._timeout, again, self._outgoing)
                return
            self._subscriptions.pop(subscription)
            subscription.turn("ended", error)
            self._turn()

        def again(outgoing: asyncio.Queue[str] | None) -> None:
            if outgoing and outgoing is self._outgoing and subscription in self._subscriptions:
                self._request(subscription)

        self._transmit(Pending("subscribe", _text(command), resolve, reject))

    def _unsubscribe(self, identifier: int) -> None:
        self._repeat({"type": "unsubscribe", "subscription": identifier})

    def _remove(self, subscription: Subscription) -> None:
        if subscription not in self._subscriptions:
            return
        self._subscriptions.pop(subscription)
        subscription.turn("ended")
        for identifier, other in list(self._by_id.items()):
            if other is subscription:
                del self._by_id[identifier]
                self._unsubscribe(identifier)
        self._turn()

    def _join(self, member: Property) -> None:
        if self._shown_state != "closed":
            self._require_begun()
        if not self._joining:
            asyncio.get_running_loop().call_soon(self._join_all)
        self._joining[member] = None

    def _join_all(self) -> None:
        joining, self._joining = self._joining, {}
        wanted = [member for member in joining if member._is_wanted()]
        for start in range(0, len(wanted), PATTERNS_OF_SUBSCRIPTION):
            self._add(Group(self, wanted[start:start + PATTERNS_OF_SUBSCRIPTION]).subscription)

    def _leave(self, group: Group, member: Property) -> None:
        group.members.pop(member.path, None)
        if not group.members:
            self._remove(group.subscription)

    def _refused(self, group: Group, reason: Exception) -> None:
        members = list(group.members.values())
        if self._shown_state == "closed" or len(members) == 1:
            for member in members:
                member._refused(reason)
            return
        # One of them is at fault, and the others shall not suffer.
        for member in members:
            self._add(Group(self, [member]).subscription)


def _patterns(match: str | Sequence[str]) -> list[str]:
    return [match] if isinstance(match, str) else list(match)


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


_WIRE_NAMES = {"if_match": "ifMatch", "if_none_match": "ifNoneMatch", "if_": "if"}


def _wire(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command as its members."""
    return {_WIRE_NAMES.get(name, name): value
            for name, value in options.items() if value is not None and name != "timeout"}


def _command(operation: Mapping[str, Any]) -> dict[str, Any]:
    """An operation of a transaction as the command that does the same."""
    members = {name: value for name, value in operation.items() if name != "op"}
    return {**members, "type": operation["op"]}


def _is_conditional(write: Mapping[str, Any]) -> bool:
    """Whether it may be another's when a new connection begins; a JSON Patch may not fit any more."""
    return any(write.get(name) for name in ("ifMatch", "ifNoneMatch", "if", "operations"))


def _text(command: Mapping[str, Any]) -> str:
    text = json.dumps(command, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A text with half a surrogate pair is refused here, where whoever wrote it is told, and not when it is sent.
    text.encode()
    return text


def _resolve(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _reject(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _problem(error: InvalidStatus) -> dict[str, Any]:
    status = error.response.status_code
    problem: dict[str, Any] = {"code": "upgrade_refused", "detail": f"the upgrade was answered with {status}"}
    with contextlib.suppress(ValueError, UnicodeDecodeError):
        answer = json.loads(error.response.body or b"")
        if isinstance(answer, dict) and "code" in answer:
            problem = answer
    return {**problem, "status": status}
