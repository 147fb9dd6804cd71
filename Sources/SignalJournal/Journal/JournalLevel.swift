// SPDX-License-Identifier: MIT

internal import Synchronization

/// How much is in the journal, between the thread that writes it and those that take it over into the state and the history.
///
/// What the journal may take is reckoned by the state alone: the history never keeps anybody from writing.
final class JournalLevel: Sendable {
  private let pendingBytes: Atomic<Int>
  private let pendingWork: Atomic<Int>
  private let state: Atomic<UInt64>
  private let history: Atomic<UInt64>

  /// - Parameters:
  ///   - size: What is in the journal and not in the state.
  ///   - position: Up to where the state goes.
  ///   - history: Up to where the history goes, durably; nil when there is none.
  init(_ size: (bytes: Int, work: Int), coveredThrough position: UInt64, history: UInt64? = nil) {
    pendingBytes = Atomic(size.bytes)
    pendingWork = Atomic(size.work)
    state = Atomic(position)
    self.history = Atomic(history ?? .max)
  }

  /// Bytes of records that are not in the state.
  var bytes: Int { pendingBytes.load(ordering: .relaxed) }

  /// Changes and other records that are not in the state.
  var work: Int { pendingWork.load(ordering: .relaxed) }

  /// Up to where the state goes, durably.
  var stateCovered: UInt64 { state.load(ordering: .acquiring) }

  /// Up to where the history goes, durably.
  var historyCovered: UInt64 { history.load(ordering: .acquiring) }

  /// Up to where the journal does not need its rows.
  var coveredThrough: UInt64 { min(stateCovered, historyCovered) }

  func add(bytes: Int, work: Int) {
    pendingBytes.add(bytes, ordering: .relaxed)
    pendingWork.add(work, ordering: .relaxed)
  }

  func cover(bytes: Int, work: Int, through position: UInt64) {
    pendingBytes.subtract(bytes, ordering: .relaxed)
    pendingWork.subtract(work, ordering: .relaxed)
    state.store(position, ordering: .releasing)
  }

  func coverHistory(through position: UInt64) { history.store(position, ordering: .releasing) }
}
