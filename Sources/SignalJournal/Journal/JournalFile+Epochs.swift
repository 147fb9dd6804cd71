// SPDX-License-Identifier: MIT

internal import SignalStore

/// What `journal.sqlite` stores beside its rows: its identity, and its starts.
extension JournalFile {
  /// The identifier that all files of a folder share.
  func identity() throws(StorageError) -> [UInt8] {
    let statement = try database.prepare("SELECT identity FROM storage")
    guard try statement.step() else { throw damage("the table storage", "it is empty") }
    return statement.bytes(0)
  }

  /// The position at which the journal was closed cleanly; nil when it was not.
  func closedPosition() throws(StorageError) -> UInt64? {
    let statement = try database.prepare("SELECT closed FROM storage")
    guard try statement.step(), !statement.isNull(0) else { return nil }
    return UInt64(bitPattern: statement.integer(0))
  }

  /// Records a clean close.
  func close(at position: UInt64) throws(StorageError) {
    try database.prepare("UPDATE storage SET closed = ?").run(.integer(Int64(position)))
  }

  /// The starts so far, in order.
  ///
  /// - Parameter first: The number of the first one to read.
  func generations(from first: Int64 = 0) throws(StorageError) -> [Ancestry.Generation] {
    var generations: [Ancestry.Generation] = []
    var next: Int64?
    let statement = try database.prepare("SELECT * FROM epoch WHERE number >= ? ORDER BY number")
    try statement.begin(.integer(first))
    while try statement.step() {
      let number = statement.integer(0)
      guard let epoch = Epoch(String(decoding: statement.bytes(1), as: UTF8.self)) else {
        throw damage("epoch \(number)", "its name is none")
      }
      let generation = Ancestry.Generation(
        epoch: epoch, after: Revision(UInt64(bitPattern: statement.integer(2))),
        position: UInt64(bitPattern: statement.integer(3)), time: Timestamp(milliseconds: statement.integer(4)))
      guard statement.integer(5) == Int64(generation.checksum(number)) else {
        throw damage("epoch \(number)", "the checksum does not match")
      }
      guard number == next ?? number else { throw damage("epoch \(number)", "the one before it is missing") }
      next = number + 1
      generations.append(generation)
    }
    return generations
  }

  /// Adds a start, durably, and deletes the oldest beyond the limit.
  func begin(_ generation: Ancestry.Generation) throws(StorageError) {
    try database.transaction { () throws(StorageError) in
      let number = (try database.integer("SELECT max(number) FROM epoch") ?? 0) + 1
      try database.prepare("INSERT INTO epoch VALUES (?, ?, ?, ?, ?, ?)").run(
        .integer(number), .text(Array(generation.epoch.description.utf8)), .integer(Int64(generation.after.number)),
        .integer(Int64(generation.position)), .integer(generation.time.milliseconds),
        .integer(Int64(generation.checksum(number))))
      try database.prepare("DELETE FROM epoch WHERE number <= ?").run(.integer(number - Int64(Ancestry.limit)))
      try database.execute("UPDATE storage SET closed = NULL")
    }
  }

  private func damage(_ place: String, _ reason: String) -> StorageError {
    .damaged(.init(database.file, place, reason))
  }
}

extension Ancestry.Generation {
  fileprivate func checksum(_ number: Int64) -> UInt32 {
    var checksum = Checksum()
    checksum.append(number)
    checksum.append(Array(epoch.description.utf8))
    checksum.append(after.number)
    checksum.append(position)
    checksum.append(time.milliseconds)
    return checksum.value
  }
}
