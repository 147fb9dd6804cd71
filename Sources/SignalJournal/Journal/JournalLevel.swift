// SPDX-License-Identifier: MIT

internal import Synchronization

/// How much is in the journal, between the thread that writes it and the one that takes it over into the state.
final class JournalLevel: Sendable {
  private let pendingBytes: Atomic<Int>
  private let pendingWork: Atomic<Int>
  private let covered: Atomic<UInt64>

  /// - Parameters:
  ///   - size: What is in the journal and not in the state.
  ///   - position: Up to where the state goes.
  init(_ size: (bytes: Int, work: Int), coveredThrough position: UInt64) {
    pendingBytes = Atomic(size.bytes)
    pendingWork = Atomic(size.work)
    covered = Atomic(position)
  }

  /// Bytes of records that are not in the state.
  var bytes: Int { pendingBytes.load(ordering: .relaxed) }

  /// Changes and other records that are not in the state.
  var work: Int { pendingWork.load(ordering: .relaxed) }

  /// Up to where the state goes, durably: the journal does not need these rows.
  var coveredThrough: UInt64 { covered.load(ordering: .acquiring) }

  func add(bytes: Int, work: Int) {
    pendingBytes.add(bytes, ordering: .relaxed)
    pendingWork.add(work, ordering: .relaxed)
  }

  func cover(bytes: Int, work: Int, through position: UInt64) {
    pendingBytes.subtract(bytes, ordering: .relaxed)
    pendingWork.subtract(work, ordering: .relaxed)
    covered.store(position, ordering: .releasing)
  }
}
