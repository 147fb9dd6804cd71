# SPDX-License-Identifier: MIT
"""Why something failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Outcome = Literal["refused", "unsent", "unknown"]


class SignalError(Exception):
    """A failure with a `code`: one of §6 of the protocol, or `timeout`, `disconnected`, `closed` or `too_slow`.

    `outcome` says what has become of a command: `refused`, and nothing was changed; `unsent`, it never got there;
    `unknown`, it may have been carried out. `problem` has everything that the server said (§2.6).
    """

    def __init__(self, problem: Mapping[str, Any], outcome: Outcome | None = None) -> None:
        super().__init__(problem.get("detail") or problem["code"])
        self.problem = problem
        self.outcome = outcome

    @property
    def code(self) -> str:
        return str(self.problem["code"])

    @property
    def is_temporary(self) -> bool:
        """Whether the same may succeed later."""
        return bool(self.problem.get("temporary"))

    @property
    def current(self) -> Mapping[str, Any] | None:
        """What is there, when a condition has failed."""
        return self.problem.get("current")

    @property
    def close_code(self) -> int | None:
        """With which code the server has closed for good."""
        return self.problem.get("closeCode")


def failure(code: str, detail: str, outcome: Outcome | None = None) -> SignalError:
    """An error that this side found."""
    return SignalError({"code": code, "detail": detail}, outcome)
