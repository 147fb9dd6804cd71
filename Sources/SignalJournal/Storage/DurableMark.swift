// SPDX-License-Identifier: MIT

internal import SignalStore

/// The newest position that was reported as durable, in a small file of its own that is written without a sync.
///
/// After a crash of the process it is exact, after a power failure it may be old. So it never exceeds what was durable:
/// when it is ahead of what is recovered, the disk has lost something that it had synced, or the files are those of a
/// backup. The revision may be that of an omitted commit after the last record, which nothing else records.
struct DurableMark: Equatable {
  static let name = "durable"
  static let size = 40

  let epoch: Epoch
  let position: UInt64
  let revision: Revision

  init(epoch: Epoch, position: UInt64, revision: Revision) {
    self.epoch = epoch
    self.position = position
    self.revision = revision
  }

  /// The mark in a file; nil when it is malformed.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == DurableMark.size else { return nil }
    var checksum = Checksum()
    checksum.append(bytes.span.extracting(0..<36))
    let stored = DurableMark.number(bytes[36..<40])
    let name = String(decoding: bytes[..<16].prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    guard stored == UInt64(checksum.value), let epoch = Epoch(name) else { return nil }
    self.epoch = epoch
    position = DurableMark.number(bytes[16..<24])
    revision = Revision(DurableMark.number(bytes[24..<32]))
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(DurableMark.size)
    epoch.write(to: &bytes)
    while bytes.count < 16 { bytes.append(UInt8(ascii: " ")) }
    DurableMark.append(position, 8, to: &bytes)
    DurableMark.append(revision.number, 8, to: &bytes)
    DurableMark.append(0, 4, to: &bytes)
    var checksum = Checksum()
    checksum.append(bytes)
    DurableMark.append(UInt64(checksum.value), 4, to: &bytes)
    return bytes
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func append(_ number: UInt64, _ count: Int, to bytes: inout [UInt8]) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
  }
}
