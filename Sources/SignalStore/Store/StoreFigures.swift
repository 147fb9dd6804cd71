// SPDX-License-Identifier: MIT

import Synchronization

/// What there is in a store at one moment, in numbers.
package struct StoreFigures: Sendable, Equatable {
  /// Properties.
  package var properties = 0
  /// Their approximate size in bytes, as ``StoreLimits/propertyBytes`` bounds it.
  package var propertyBytes = 0
  /// Commits since the store was made or restored.
  package var commits: UInt64 = 0
  /// Properties whose time to live has ended since then.
  package var expiries = 0
  /// Changes that are kept for those who resume, and the bytes that they keep alive.
  package var historyChanges = 0
  package var historyBytes = 0
  /// The time of the oldest of them; nil when there is none.
  package var historyBegin: Timestamp?
  package var timers = 0
  /// Signals whose last message is kept, and the bytes of these messages.
  package var rememberedSignals = 0
  package var rememberedBytes = 0
  /// Messages since the store was made or restored.
  package var messages: UInt64 = 0
}

extension PropertyStore {
  /// The store in numbers.
  package var figures: StoreFigures { shared.state.withLock { $0.figures } }

  /// How records have been written so far; nil where they are not kept.
  package var storageActivity: StorageActivity? { shared.state.withLock { $0.sink }?.activity }
}

extension StoreState {
  fileprivate var figures: StoreFigures {
    let history = replica.history.figures
    return StoreFigures(
      properties: replica.tree.count, propertyBytes: replica.propertyBytes,
      commits: replica.revision.number - firstRevision.number, expiries: expiries, historyChanges: history.changes,
      historyBytes: history.bytes, historyBegin: history.begin, timers: running.count,
      rememberedSignals: replica.signals.messages.count, rememberedBytes: replica.signals.bytes,
      messages: lastMessage.number - firstMessage)
  }
}
