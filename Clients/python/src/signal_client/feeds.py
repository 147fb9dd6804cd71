# SPDX-License-Identifier: MIT
"""What a program sees of its subscriptions: watches, signals and properties."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

from .errors import SignalError, failure
from .fold import Change, Entry, Event, FeedState, Subscription, same
from .wire import Written

if TYPE_CHECKING:
    from .client import Client

ITERATOR_LIMIT = 10_000
Item = TypeVar("Item")
Cancel = Callable[[], None]
# A property that is not there, where null is a value.
_ABSENT: Any = object()


class Listeners:
    """Functions that are called with what is new. The same one may be given twice."""

    def __init__(self) -> None:
        self._boxes: dict[object, Callable[..., None]] = {}

    def __len__(self) -> int:
        return len(self._boxes)

    def add(self, fn: Callable[..., None]) -> Cancel:
        refuse_coroutine(fn)
        box = object()
        self._boxes[box] = fn
        return lambda: void(self._boxes.pop(box, None))

    def call(self, *values: Any) -> None:
        for fn in list(self._boxes.values()):
            invoke(fn, *values)


def refuse_coroutine(fn: Callable[..., None] | None) -> None:
    """Nobody would await it, so it would never run."""
    if inspect.iscoroutinefunction(fn):
        raise TypeError(f"{fn!r} is async and would not be awaited: iterate with `async for`, or make a task in it")


def void(_: object) -> None:
    """Drops a result."""


def invoke(fn: Callable[..., None], *values: Any) -> None:
    """What a function of the program raises is its error, and must not stop the fold."""
    try:
        fn(*values)
    except Exception as error:
        context = {"message": f"{fn!r} raised, called by signal_client", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


class _Queue(Generic[Item]):
    """The iterator of a feed: what it has not given yet."""

    def __init__(self, feed: Feed[Item], items: list[Item]) -> None:
        self.feed = feed
        self.items = items
        self.limit = ITERATOR_LIMIT
        self.error: Exception | None = None
        self._position = 0
        self._wake: asyncio.Future[None] | None = None

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        while self._position == len(self.items):
            self.items.clear()
            self._position = 0
            if error := self.error or self.feed.error:
                raise error
            if self.feed.state == "ended":
                raise StopAsyncIteration
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        self._position += 1
        return self.items[self._position - 1]

    def extend(self, items: Sequence[Item]) -> None:
        self.items.extend(items)
        if len(self.items) - self._position > self.limit:
            waiting = self.items[self._position:]
            self._position = 0
            try:
                self.items = self.feed._shortened(waiting)
            except SignalError as error:
                self.items = []
                self.error = error
            self.limit = max(ITERATOR_LIMIT, 2 * len(self.items))
        self.wake()

    def wake(self) -> None:
        if self._wake and not self._wake.done():
            self._wake.set_result(None)


class Feed(Generic[Item]):
    """What watches and listeners share: functions, iterators, and an end."""

    def __init__(self, client: Client, command: Mapping[str, Any]) -> None:
        self.error: Exception | None = None
        self._client = client
        self._listeners = Listeners()
        self._queues: WeakSet[_Queue[Item]] = WeakSet()
        self._waiting: list[asyncio.Future[None]] = []
        self._subscription = Subscription(command, self)
        client._add(self._subscription)

    @property
    def state(self) -> FeedState:
        return self._subscription.state

    async def ready(self) -> None:
        """Waits until it is live, or has had all it wanted; raises when it is refused, or ends before."""
        while self.state in ("connecting", "stale"):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        if self.error:
            raise self.error
        if not self._subscription.was_ready:
            raise failure("closed", "it ended before it was live")

    def cancel(self) -> None:
        """Ends it; what it has shown stays."""
        self._client._remove(self._subscription)

    def __aiter__(self) -> AsyncIterator[Item]:
        queue = _Queue(self, self._present())
        self._queues.add(queue)
        return queue

    def turned(self, state: FeedState, reason: Exception | None) -> None:
        if state == "ended":
            self.error = reason
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        for queue in list(self._queues):
            queue.wake()

    def reached(self, revision: int | None, epoch: str) -> None:
        """Nothing is shown that depends on it."""

    def deliver(self, changes: Sequence[Event]) -> None:
        raise NotImplementedError

    def _present(self) -> list[Item]:
        return []

    def _shortened(self, items: list[Item]) -> list[Item]:
        raise NotImplementedError

    def _extend(self, items: Sequence[Item]) -> None:
        for queue in list(self._queues):
            queue.extend(items)


class Watch(Feed[Change]):
    """A live read-only mapping of what matches, from path to value; iterated with `async for` it gives the changes.

    It changes at revisions only: a snapshot, a transaction or what belongs to a gap is there as a whole or not at all.
    `async for` begins with what is there. Who iterates more slowly than changes come gets the newest of each path.
    """

    @property
    def left_out(self) -> int:
        """Events that the server left out, because of a pace or because they were not taken."""
        return self._subscription.left_out

    def subscribe(self, fn: Callable[[Watch, Sequence[Change]], None]) -> Cancel:
        """Calls `fn` at once, and then with the changes of each revision; returns what stops that."""
        cancel = self._listeners.add(fn)
        invoke(fn, self, [])
        return cancel

    def entry(self, path: str) -> Entry | None:
        return self._subscription.known.get(path)

    def __getitem__(self, path: str) -> Any:
        return self._subscription.known[path].value

    def __contains__(self, path: object) -> bool:
        return path in self._subscription.known

    def __len__(self) -> int:
        return len(self._subscription.known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._subscription.known)

    def keys(self) -> Sequence[str]:
        return list(self._subscription.known)

    def get(self, path: str, default: Any = None) -> Any:
        entry = self.entry(path)
        return default if entry is None else entry.value

    def values(self) -> list[Any]:
        return [entry.value for entry in self._subscription.known.values()]

    def items(self) -> list[tuple[str, Any]]:
        return [(path, entry.value) for path, entry in self._subscription.known.items()]

    async def __aenter__(self) -> Watch:
        await self.ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    def deliver(self, changes: Sequence[Event]) -> None:
        items = [Change(change) for change in changes]
        self._extend(items)
        self._listeners.call(self, items)

    def _present(self) -> list[Change]:
        return [
            Change({"type": "didSet", "path": path, "value": one.value, "revision": one.revision, "time": one.time})
            for path, one in self._subscription.known.items()
        ]

    def _shortened(self, items: list[Change]) -> list[Change]:
        newest: dict[str, Event] = {}
        for item in items:
            earlier = newest.pop(item.path, item.event)
            newest[item.path] = {**item.event, "oldValue": earlier.get("oldValue")}
        return [Change(event) for event in newest.values()]


@dataclass(frozen=True, slots=True)
class Message:
    """What was sent through a signal; `remembered` when that was before, and it was kept."""

    path: str
    message: Any
    time: str
    remembered: bool = False


class Listener(Feed[Message]):
    """Messages of signals. What is sent while there is no connection is gone."""

    def subscribe(self, fn: Callable[[Message], None]) -> Cancel:
        """Calls `fn` with each message; returns what stops that."""
        return self._listeners.add(fn)

    def deliver(self, changes: Sequence[Event]) -> None:
        items = [
            Message(event["path"], event["message"], event["time"], bool(event.get("remembered"))) for event in changes
        ]
        self._extend(items)
        for item in items:
            self._listeners.call(item)

    def _shortened(self, items: list[Message]) -> list[Message]:
        raise failure("too_slow", "messages came faster than they were taken")


@dataclass(eq=False, slots=True)
class _Write:
    """A value that is shown while the server has not said whether it takes it, or before its event has come."""

    value: Any
    cursor: str = ""


def _same(one: Any, other: Any) -> bool:
    return one is other or _ABSENT not in (one, other) and same(one, other)


class Property:
    """One property, that can be set: what is shown is what was set last here, unless the server has refused it.

    It is known while somebody subscribes to it, or iterates over its values.
    """

    def __init__(self, client: Client, path: str) -> None:
        self.path = path
        self.error: Exception | None = None
        self._client = client
        self._listeners = Listeners()
        self._pending: list[_Write] = []
        self._confirmed: _Write | None = None
        self._group: Group | None = None
        self._shown = _ABSENT
        self._wakers: set[asyncio.Event] = set()

    @property
    def value(self) -> Any:
        """None when there is none, or nothing is known yet; `exists` tells these from null."""
        shown = self._newest()
        return None if shown is _ABSENT else shown

    @property
    def exists(self) -> bool:
        return self._newest() is not _ABSENT

    @property
    def cursor(self) -> str | None:
        """The cursor of its last change."""
        known = self._known()
        return known.cursor if known else None

    @property
    def state(self) -> FeedState:
        return self._group.subscription.state if self._group else "connecting"

    def subscribe(self, fn: Callable[[Any], None]) -> Cancel:
        """Calls `fn` with the value, at once and whenever it changes; returns what stops that."""
        if len(self._listeners) == 0:
            self._client._join(self)
        remove = self._listeners.add(fn)
        invoke(fn, self.value)

        def cancel() -> None:
            remove()
            if len(self._listeners) == 0 and self._group:
                self._client._leave(self._group, self)
                self._group = self._confirmed = None
                self._shown = self._newest()

        return cancel

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The value, once it is known, and each one after it; of several that came meanwhile the newest."""
        woken = asyncio.Event()
        self._wakers.add(woken)
        cancel = self.subscribe(void)
        given: Any = None
        is_first = True
        try:
            while True:
                woken.clear()
                newest = self._newest()
                is_known = self.state == "live" or newest is not _ABSENT
                if is_known and (is_first or not _same(newest, given)):
                    given, is_first = newest, False
                    yield self.value
                elif self.state != "ended":
                    await woken.wait()
                elif self.error:
                    raise self.error
                else:
                    return
        finally:
            self._wakers.discard(woken)
            cancel()

    async def set(self, value: Any, **options: Any) -> Written:
        """Sets it, with the options of `Client.set`. Shown at once, and taken back if it is refused."""
        write = self._begin(value)
        return await self._client._set(self.path, value, options, lambda result: self._settle(write, result))

    async def delete(self, **options: Any) -> Written:
        write = self._begin(_ABSENT)
        return await self._client._delete(self.path, options, lambda result: self._settle(write, result))

    async def update(self, change: Callable[[Any], Any]) -> Written:
        """Sets what `change` makes of the value (None, when there is none), again if somebody else was faster."""
        current = self._known() if self.state == "live" else await self._client.entry(self.path)
        for _ in range(100):
            condition = {"if_match": current.cursor} if current else {"if_none_match": "*"}
            try:
                return await self.set(change(current.value if current else None), **condition)
            except SignalError as error:
                if error.code != "precondition_failed":
                    raise
                refusal = error
                there = error.current
                current = self._client._entry(there) if there else None
        raise refusal

    def _known(self) -> Entry | None:
        return self._group.subscription.known.get(self.path) if self._group else None

    def _newest(self) -> Any:
        if self._pending:
            return self._pending[-1].value
        if self._confirmed:
            return self._confirmed.value
        known = self._known()
        return known.value if known else _ABSENT

    def _begin(self, value: Any) -> _Write:
        write = _Write(value)
        self._pending.append(write)
        self._notify()
        return write

    def _settle(self, write: _Write, result: Written | Exception) -> None:
        if write not in self._pending:
            return
        self._pending.remove(write)
        self.error = result if isinstance(result, Exception) else None
        # A reply is ahead of its event, and events of before may still be on their way.
        if isinstance(result, Written) and self._group and not self._group.has(result.cursor):
            self._confirmed = _Write(write.value, result.cursor)
        self._notify()

    def _notify(self) -> None:
        newest = self._newest()
        if not _same(newest, self._shown):
            self._shown = newest
            self._listeners.call(self.value)
        self._wake()

    def _wake(self) -> None:
        for woken in self._wakers:
            woken.set()

    def _is_wanted(self) -> bool:
        return len(self._listeners) > 0 and self._group is None

    def _reached(self, epoch: str) -> None:
        if self._confirmed and self._group:
            cursor = self._confirmed.cursor
            if not cursor.startswith(f"{epoch}.") or self._group.has(cursor):
                self._confirmed = None
        self._notify()

    def _refused(self, reason: Exception) -> None:
        self.error = reason
        self._confirmed = None
        self._notify()


class Group:
    """Properties that began to be watched in the same turn: they share a subscription."""

    def __init__(self, client: Client, properties: Sequence[Property]) -> None:
        self.members = {member.path: member for member in properties}
        self._client = client
        self._epoch = ""
        self._revision = -1
        fields = ["path", "value", "revision", "time"]
        self.subscription = Subscription({"match": list(self.members), "fields": fields}, self)
        for member in properties:
            member._group = self

    def deliver(self, changes: Sequence[Event]) -> None:
        """All members look at what is known, once the whole revision is."""

    def turned(self, state: FeedState, reason: Exception | None) -> None:
        if reason:
            self._client._refused(self, reason)
        for member in list(self.members.values()):
            member._wake()

    def reached(self, revision: int | None, epoch: str) -> None:
        self._epoch = epoch
        self._revision = -1 if revision is None else revision
        for member in list(self.members.values()):
            member._reached(epoch)

    def has(self, cursor: str) -> bool:
        """Whether the events up to this cursor have come."""
        epoch, revision = cursor.split(".")
        return epoch == self._epoch and int(revision) <= self._revision
