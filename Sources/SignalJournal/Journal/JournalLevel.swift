// SPDX-License-Identifier: MIT

internal import Synchronization

/// The fill level of the journal, shared by the thread that writes it and those that copy it to the state and the
/// history.
///
/// The limit of the journal applies to what the state still needs: the history never blocks writing.
final class JournalLevel: Sendable {
  private let pendingBytes: Atomic<Int>
  private let pendingWork: Atomic<Int>
  private let state: Atomic<UInt64>
  private let history: Atomic<UInt64>

  /// - Parameters:
  ///   - size: What the journal has after the state's position.
  ///   - position: The position of the state.
  ///   - history: The durable position of the history; nil when there is none.
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

  /// The durable position of the state.
  var stateCovered: UInt64 { state.load(ordering: .acquiring) }

  /// The durable position of the history.
  var historyCovered: UInt64 { history.load(ordering: .acquiring) }

  /// The position up to which the rows of the journal are no longer needed.
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
