// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// Takes records, and is how a test says.
final class FakeDisk: RecordSink {
  private let state = Mutex((status: StorageStatus(), hurries: 0))

  func append(_ record: Record) { state.withLock { $0.status.taken += 1 } }

  var refusal: StorageRefusal? { state.withLock { $0.status.refusal } }

  var status: StorageStatus? { state.withLock { $0.status } }

  func hurry() { state.withLock { $0.hurries += 1 } }

  /// Makes everything durable that has come; gives back the number of the last record.
  func sync() -> UInt64 {
    state.withLock { state in
      state.status.durable = state.status.taken
      return state.status.taken
    }
  }

  func set(_ status: StorageStatus) { state.withLock { $0.status = status } }

  /// How often somebody could not wait.
  var hurries: Int { state.withLock { $0.hurries } }
}
