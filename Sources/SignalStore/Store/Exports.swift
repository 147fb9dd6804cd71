// SPDX-License-Identifier: MIT

// Who imports the store has the signals that it tells by.
@_exported public import Signals
