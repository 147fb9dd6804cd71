// SPDX-License-Identifier: MIT

internal import CSQLite
internal import Glibc

/// A call of SQLite that failed.
package struct DatabaseError: Error, Equatable, Sendable {
  /// The kind of a failure, by its consequence.
  package enum Kind: Equatable, Sendable {
    /// There is no room on the disk, or no quota; nothing was written, and the same call may succeed later.
    case full
    /// The file is corrupt.
    case damaged
    /// The file cannot be opened, or not for writing.
    case access
    /// The system could not read, write or sync, or failed unexpectedly; the contents of the file are unknown.
    case failed
  }

  /// The file of the database.
  package let file: String
  /// What was being done, as a noun phrase: "insert into journal".
  package let operation: String
  /// The extended result code of SQLite.
  package let code: Int32
  /// The `errno` of the last system call that failed on the file; 0 when none did.
  package let systemCode: Int32
  /// The message of SQLite.
  package let message: String

  /// The kind of the failure.
  package var kind: Kind {
    switch code & 0xFF {
    case SQLITE_FULL: .full
    // The statements are fixed: if one is wrong, its table is missing or unreadable.
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR: .damaged
    case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .access
    case SQLITE_IOERR where isOutOfRoom && !isSync: .full
    default: .failed
    }
  }

  private var isOutOfRoom: Bool { systemCode == ENOSPC || systemCode == EDQUOT }

  /// After a failed sync the system may have dropped unwritten pages, so that a second sync proves nothing.
  private var isSync: Bool { [4, 5].contains(code >> 8) }
}

extension DatabaseError: CustomStringConvertible {
  /// One line for the operator.
  package var description: String {
    let system = systemCode == 0 ? "" : ", " + SystemCall.message(systemCode)
    return "\(file): \(operation): \(message) (SQLite \(code)\(system))"
  }
}
