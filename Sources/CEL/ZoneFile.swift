// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The files of the system's time zone database.
enum ZoneFile {
  private static let directory = "/usr/share/zoneinfo/"
  /// The largest file of the database has 3.6 KB.
  private static let sizeLimit = 65_536

  /// The bytes of the file of a zone whose name has been checked; nil when there is none.
  static func read(_ name: String) -> [UInt8]? {
    // The C string lives through the call.
    let descriptor = unsafe open(directory + name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < sizeLimit {
      let count = bytes.count
      bytes.append(contentsOf: repeatElement(0, count: 4096))
      // The buffer has that many bytes from there on, and lives through the call.
      let received = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe receive(descriptor, buffer.baseAddress.map { unsafe $0 + count }, 4096)
      }
      bytes.removeLast(4096 - max(0, received))
      if received <= 0 { break }
    }
    return bytes
  }

  private static func receive(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    // The caller gives room for so many bytes. The enum's own `read` hides that of the C library.
    #if canImport(Glibc)
      return unsafe Glibc.read(descriptor, buffer, count)
    #elseif canImport(Musl)
      return unsafe Musl.read(descriptor, buffer, count)
    #else
      return unsafe Darwin.read(descriptor, buffer, count)
    #endif
  }

  /// The counts at the beginning of each part of a file.
  struct Header {
    var universal: Int
    var standard: Int
    var leaps: Int
    var times: Int
    var types: Int
    var names: Int

    func size(timeSize: Int) -> Int {
      times * (timeSize + 1) + types * 6 + names + leaps * (timeSize + 4) + standard + universal
    }
  }

  struct Reader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var left: Int { bytes.count - position }
    var rest: ArraySlice<UInt8> { bytes[position...] }

    mutating func skip(_ count: Int) -> Bool {
      guard count >= 0, count <= left else { return false }
      position += count
      return true
    }

    /// A signed number, the highest byte first.
    mutating func integer(_ size: Int) -> Int64? {
      guard size <= left else { return nil }
      var value: UInt64 = 0
      for _ in 0..<size {
        value = value << 8 | UInt64(bytes[position])
        position += 1
      }
      let shift = UInt64(64 - size * 8)
      return size == 1 ? Int64(value) : Int64(bitPattern: value << shift) >> Int64(shift)
    }

    mutating func header() -> Header? {
      guard rest.starts(with: "TZif".utf8), skip(5 + 15) else { return nil }
      var counts: [Int] = []
      for _ in 0..<6 {
        guard let count = integer(4), count >= 0, count <= sizeLimit else { return nil }
        counts.append(Int(count))
      }
      return Header(
        universal: counts[0], standard: counts[1], leaps: counts[2], times: counts[3], types: counts[4],
        names: counts[5])
    }
  }
}
