// SPDX-License-Identifier: MIT

internal import Glibc

/// Locks a folder against other processes, while it exists and the process runs.
final class FolderLock: Sendable {
  private let file: SmallFile

  init(_ folder: String) throws(StorageError) {
    file = try SmallFile(folder + "/lock", canWrite: true)
    guard try file.lock() else { throw FolderLock.refusal(folder, file) }
    // For the error message of processes that are refused.
    file.truncate()
    file.write(Array("\(getpid())\n".utf8))
  }

  /// Takes a shared lock for reading; a folder that was never written to has no lock.
  init?(reading folder: String) throws(StorageError) {
    guard SystemCall.exists(folder + "/lock") else { return nil }
    file = try SmallFile(folder + "/lock", canWrite: false)
    guard try file.lock(isShared: true) else { throw FolderLock.refusal(folder, file) }
  }

  private static func refusal(_ folder: String, _ file: SmallFile) -> StorageError {
    let digits = file.read(16).prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return .locked(folder: folder, process: Int32(String(decoding: digits, as: UTF8.self)))
  }
}
