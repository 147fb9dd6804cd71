// SPDX-License-Identifier: MIT

package import SignalStore

/// The reason a folder cannot be used, or no longer.
package enum StorageError: Error, Equatable, Sendable {
  /// Another process has locked it; `process` is its id, if known.
  case locked(folder: String, process: Int32?)
  /// Other processes have locked it against writing, as they read it.
  case lockedForReading(folder: String)
  /// A file is corrupt.
  case damaged(Damage)
  /// A file was written by a later version of this program.
  case newerFormat(file: String, format: Int64, newest: Int64)
  /// A file with one of our names is not ours.
  case foreign(file: String)
  /// SQLite failed, though what it has read is sound.
  case database(DatabaseError)
  /// A file or folder that would be written to holds something that would be lost.
  case occupied(path: String, reason: String)
  /// The requested point is not in the file.
  case outOfReach(file: String, reason: String)
  /// A system call on a file or folder failed.
  case system(operation: String, file: String, code: Int32)

  /// A corrupt part of a file.
  package struct Damage: Error, Equatable, Sendable {
    /// The path of the file.
    package let file: String
    /// Where in it: "row 1041 of the journal".
    package let place: String
    /// What is wrong: "the checksum does not match".
    package let reason: String
    /// The revision after which nothing is reliable, if known.
    package let after: Revision?

    package init(_ file: String, _ place: String, _ reason: String, after: Revision? = nil) {
      self.file = file
      self.place = place
      self.reason = reason
      self.after = after
    }
  }

  init(_ error: DatabaseError) {
    self =
      switch error.kind {
      case .damaged: .damaged(Damage(error.file, error.operation, error.message))
      case .full, .access, .failed: .database(error)
      }
  }

  /// Whether the same may succeed later, because only disk space is missing.
  package var isTemporary: Bool { if case .database(let error) = self { error.kind == .full } else { false } }
}

extension StorageError: CustomStringConvertible {
  /// One line for the operator.
  package var description: String {
    switch self {
    case .locked(let folder, let process):
      "\(folder) is in use by \(process.map { "process \($0)" } ?? "another process")"
    case .lockedForReading(let folder): "\(folder) is in use by a process that only reads"
    case .damaged(let damage):
      "\(damage.file) is damaged: \(damage.place): \(damage.reason)"
        + (damage.after.map { "; sound up to revision \($0)" } ?? "")
    case .newerFormat(let file, let format, let newest):
      "\(file) has format \(format), written by a later version; this one reads formats up to \(newest)"
    case .foreign(let file): "\(file) was not written by this program"
    case .occupied(let path, let reason): "\(path) is there already, and \(reason)"
    case .outOfReach(let file, let reason): "\(file): \(reason)"
    case .database(let error): error.description
    case .system(let operation, let file, let code): "\(file): \(operation): \(SystemCall.message(code))"
    }
  }
}
