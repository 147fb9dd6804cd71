# SPDX-License-Identifier: MIT
"""The client for scripts without asyncio: the same, with calls that wait. The connection lives in a thread of its own.

    from signal_client.sync import connect

    with connect("http://localhost:8080") as client:
        client.set("kitchen/temperature", 21.5)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from .client import Client as AsyncClient
from .client import State
from .client import connect as connect_async
from .errors import failure
from .feeds import Feed, Message
from .feeds import Watch as AsyncWatch
from .fold import Change, Entry
from .wire import Written

__all__ = ["Client", "Messages", "Watch", "connect"]
Item = TypeVar("Item")
Result = TypeVar("Result")


def connect(url: str, **options: Any) -> Client:
    """A client with the options of `signal_client.connect`; `with` begins to connect, and closes it."""
    return Client(connect_async(url, **options))


class Client:
    """Every call waits for its reply, or raises."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="signal_client", daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        self._wait(self._client.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if not self._thread.is_alive():
            self._loop.close()
            return
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def state(self) -> State:
        return self._client.state

    def get(self, path: str, default: Any = None) -> Any:
        """The value of a property, or `default` when there is none."""
        return self._wait(self._client.get(path, default))

    def entry(self, path: str) -> Entry | None:
        """A property with its cursor; None when there is none."""
        return self._wait(self._client.entry(path))

    def set(self, path: str, value: Any, **options: Any) -> Written:
        return self._wait(self._client.set(path, value, **options))

    def update(self, path: str, change: Callable[[Any], Any]) -> Written:
        """Sets what `change` makes of the value (None, when there is none), again if somebody else was faster."""
        return self._wait(self._update(path, change))

    def delete(self, path: str, **options: Any) -> Written:
        return self._wait(self._client.delete(path, **options))

    def patch(self, path: str, patch: Any, **options: Any) -> Written:
        return self._wait(self._client.patch(path, patch, **options))

    def define(self, path: str, formula: str, **options: Any) -> Written:
        return self._wait(self._client.define(path, formula, **options))

    def transaction(self, operations: Sequence[Mapping[str, Any]], **options: Any) -> Written:
        return self._wait(self._client.transaction(operations, **options))

    def send(self, path: str, message: Any = None, **options: Any) -> None:
        self._wait(self._client.send(path, message, **options))

    def on_disconnect(self, operations: Sequence[Mapping[str, Any]]) -> None:
        self._wait(self._client.on_disconnect(operations))

    def request(self, command: Mapping[str, Any], *, timeout: float | None = None) -> Mapping[str, Any]:
        return self._wait(self._client.request(command, timeout=timeout))

    def watch(self, match: str | Sequence[str], **options: Any) -> Watch:
        """What matches, and its changes; with the options of `signal_client.Client.watch`."""
        return Watch(self, self._wait(self._begin(lambda: self._client.watch(match, **options))))

    def listen(self, match: str | Sequence[str], **options: Any) -> Messages:
        """Messages of the signals that match."""
        return Messages(self, self._wait(self._begin(lambda: self._client.listen(match, **options))))

    async def _update(self, path: str, change: Callable[[Any], Any]) -> Written:
        return await self._client.property(path).update(change)

    async def _begin(self, make: Callable[[], Result]) -> Result:
        return make()

    def _wait(self, command: Coroutine[Any, Any, Result]) -> Result:
        if not self._thread.is_alive():
            # Nobody would run it, and its reply never come.
            command.close()
            if self._loop.is_closed():
                raise failure("closed", "the client is closed", "unsent")
            raise RuntimeError("the client does not connect yet: use it within `with connect(…) as client:`")
        future = asyncio.run_coroutine_threadsafe(command, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise


class _Feed(Generic[Item]):
    """A feed of the thread of the connection; iterating waits for what comes."""

    def __init__(self, client: Client, feed: Feed[Item]) -> None:
        self._client = client
        self._feed = feed
        self._items = feed.__aiter__()

    @property
    def state(self) -> Literal["connecting", "live", "stale", "ended"]:
        return self._feed.state

    def __iter__(self) -> Iterator[Item]:
        while True:
            try:
                item = self._client._wait(self._next())
            except StopAsyncIteration:
                return
            yield item

    async def _next(self) -> Item:
        return await self._items.__anext__()

    def cancel(self) -> None:
        async def cancel() -> None:
            self._feed.cancel()

        self._client._wait(cancel())


class Watch(_Feed[Change]):
    """What matches: `snapshot` is how it stands, iterating begins with what is there and gives the changes."""

    def __init__(self, client: Client, watch: AsyncWatch) -> None:
        super().__init__(client, watch)
        self._watch = watch

    def __enter__(self) -> Watch:
        self._client._wait(self._watch.ready())
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def snapshot(self) -> dict[str, Any]:
        """Path and value of all that matches now; waits until it is live."""

        async def snapshot() -> dict[str, Any]:
            await self._watch.ready()
            return dict(self._watch.items())

        return self._client._wait(snapshot())


class Messages(_Feed[Message]):
    """Messages of signals, as they come."""
