// SPDX-License-Identifier: MIT

import CStorageFaults
import Foundation

/// A layer of system calls of its own for each test, which fails on purpose and remembers what was done.
// The layer has a lock of its own, and stays as long as the process.
@safe final class DiskFaults: @unchecked Sendable {
  enum Call: Int32, CaseIterable {
    case read = 1
    case write = 2
    case sync = 4
    case truncate = 8
  }

  enum Failure: UInt32, CaseIterable {
    /// The system says EIO.
    case io = 0
    /// There is no room.
    case full = 1
    /// There is room for half of it.
    case short = 2
  }

  /// Something that was done to a file.
  struct Step {
    enum Action {
      case write(offset: Int, [UInt8])
      case truncate(Int)
      case sync
      case delete
    }

    let file: String
    let action: Action
  }

  /// What SQLite knows it by.
  let name = "faults-\(UUID().uuidString)"
  private let layer: OpaquePointer

  init() { unsafe layer = storage_faults_new(name) }

  /// Lets calls fail from the one with a number on, 1 for the next; on files whose names end like this.
  func fail(_ call: Call, _ failure: Failure, at number: Int = 1, isLasting: Bool = true, file: String = "") {
    unsafe storage_faults_set(
      layer, call.rawValue, storage_fault_mode(failure.rawValue), number, isLasting, file)
  }

  func clear() { unsafe storage_faults_clear(layer) }

  /// How many calls of the kind that fails there were.
  var calls: Int { unsafe storage_faults_calls(layer) }

  /// Remembers what is done from now on; nothing is synced to the disk any more.
  func beginSteps() { unsafe storage_steps_begin(layer) }

  var stepCount: Int { unsafe storage_steps_count(layer) }

  func step(_ index: Int) -> Step {
    // What it points to stays as long as the layer.
    let step = unsafe storage_steps_get(layer, index)
    let action: Step.Action =
      switch unsafe step.kind {
      case STORAGE_STEP_WRITE:
        .write(
          offset: Int(unsafe step.offset),
          unsafe Array(UnsafeBufferPointer(start: step.bytes, count: Int(step.count))))
      case STORAGE_STEP_TRUNCATE: .truncate(Int(unsafe step.offset))
      case STORAGE_STEP_SYNC: .sync
      default: .delete
      }
    return Step(file: unsafe URL(filePath: String(cString: step.path)).lastPathComponent, action: action)
  }
}
