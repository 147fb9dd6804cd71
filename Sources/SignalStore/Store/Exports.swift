// SPDX-License-Identifier: MIT

// Importing the store also imports the signals that it sends its changes through.
@_exported public import Signals
