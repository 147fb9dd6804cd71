// SPDX-License-Identifier: MIT

internal import Glibc

/// Locks a folder against other processes, while it exists and the process runs.
final class FolderLock: Sendable {
  private let file: SmallFile
  private let isShared: Bool

  init(_ folder: String) throws(StorageError) {
    let file = try SmallFile(folder + "/lock", canWrite: true)
    if try !file.lock() {
      // Those who read share their lock with anyone who reads, and have not written who they are.
      guard try file.lock(isShared: true) else { throw FolderLock.refusal(folder, file) }
      // Or a process that wrote has released it in between.
      guard try file.lock() else { throw .lockedForReading(folder: folder) }
    }
    // For the error message of processes that are refused.
    file.truncate()
    file.write(Array("\(getpid())\n".utf8))
    (self.file, isShared) = (file, false)
  }

  /// Takes a shared lock for reading; a folder that was never written to has no lock.
  init?(reading folder: String) throws(StorageError) {
    guard SystemCall.exists(folder + "/lock") else { return nil }
    let file = try SmallFile(folder + "/lock", canWrite: false)
    guard try file.lock(isShared: true) else { throw FolderLock.refusal(folder, file) }
    (self.file, isShared) = (file, true)
  }

  deinit {
    // Before it is released, as the next process writes its own.
    if !isShared { file.truncate() }
  }

  /// The error that names the process which has the lock for itself.
  private static func refusal(_ folder: String, _ file: SmallFile) -> StorageError {
    let digits = file.read(16).prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    let process = Int32(String(decoding: digits, as: UTF8.self))
    // It may not have written its own yet, or be in another container, where another process has this number.
    return .locked(folder: folder, process: process.flatMap { isRunning($0) ? $0 : nil })
  }

  private static func isRunning(_ process: Int32) -> Bool {
    process > 0 && (kill(process, 0) == 0 || errno == EPERM)
  }
}
