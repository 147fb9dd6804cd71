# SPDX-License-Identifier: MIT
"""A client of Signal Server for asyncio; `signal_client.sync` is one for scripts. docs/protocol.md is the contract."""

from .client import Client, connect
from .errors import SignalError
from .feeds import Listener, Message, Property, Watch
from .fold import Change, Entry
from .wire import Written

__all__ = ["Change", "Client", "Entry", "Listener", "Message", "Property", "SignalError", "Watch", "Written", "connect"]
