// SPDX-License-Identifier: MIT

import JSON

/// The identifier of one history of a store: revisions of different epochs cannot be compared.
///
/// 1 to 8 lowercase letters and digits. A store that has lost its history, by a restart, takes a
/// new one.
public struct Epoch: Hashable, Sendable {
  /// The characters from the most significant byte on, padded with zeros: compared and copied
  /// and copied without touching the heap.
  private let packed: UInt64

  /// Makes an epoch from its text; nil when the text is not an epoch.
  public init?(_ text: String) {
    self.init(text.utf8.span)
  }

  init?(_ text: Span<UInt8>) {
    guard 1...8 ~= text.count else { return nil }
    var packed: UInt64 = 0
    for index in text.indices {
      guard Epoch.isAllowed(text[index]) else { return nil }
      packed |= UInt64(text[index]) << UInt64(56 - 8 * index)
    }
    self.packed = packed
  }

  private init(packed: UInt64) {
    self.packed = packed
  }

  /// An epoch of eight random characters: 40 bits, in the base32 of RFC 4648 §6.
  public static func random() -> Epoch {
    var generator = SystemRandomNumberGenerator()
    return random(using: &generator)
  }

  /// An epoch of eight random characters from the given generator, for reproducible tests.
  package static func random(using generator: inout some RandomNumberGenerator) -> Epoch {
    var bits = generator.next() as UInt64
    var packed: UInt64 = 0
    for _ in 0..<8 {
      let digit = UInt8(bits & 31)
      packed = packed << 8 | UInt64(digit < 26 ? UInt8(ascii: "a") + digit : UInt8(ascii: "2") + digit - 26)
      bits >>= 5
    }
    return Epoch(packed: packed)
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }

  /// Appends the characters.
  public func write(to text: inout [UInt8]) {
    text.append(addingCapacity: 8) { output in
      var rest = packed
      while rest != 0 {
        output.append(UInt8(truncatingIfNeeded: rest >> 56))
        rest <<= 8
      }
    }
  }
}

extension Epoch: CustomStringConvertible {
  /// The characters.
  public var description: String {
    var text: [UInt8] = []
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }
}

/// A position in the history of a store, `<epoch>.<revision>`, such as `x7.1042`.
///
/// The same text is the ETag of a property, the id of a server-sent event, the point to resume
/// from and the index of a long poll. Text and cursor correspond one to one: `x7.01042` is no
/// cursor.
public struct Cursor: Hashable, Sendable {
  /// The history that the revision belongs to.
  public let epoch: Epoch
  /// The position in it.
  public let revision: Revision

  /// Makes a cursor from its parts.
  public init(epoch: Epoch, revision: Revision) {
    self.epoch = epoch
    self.revision = revision
  }

  /// Makes a cursor from its text; nil when the text is not a cursor.
  public init?(_ text: String) {
    self.init(text.utf8.span)
  }

  /// Makes a cursor from its text as ASCII bytes; nil when they are not a cursor.
  public init?(_ text: Span<UInt8>) {
    var point = 0
    while point < text.count, text[point] != UInt8(ascii: ".") { point += 1 }
    guard point < text.count, let epoch = Epoch(text.extracting(0..<point)) else { return nil }
    let digits = text.extracting((point + 1)..<text.count)
    guard 1...20 ~= digits.count, digits.count == 1 || digits[0] != UInt8(ascii: "0") else { return nil }
    var number: UInt64 = 0
    for index in digits.indices {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digits[index] else { return nil }
      let (shifted, tooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, overflow) = shifted.addingReportingOverflow(UInt64(digits[index] - UInt8(ascii: "0")))
      if tooLarge || overflow { return nil }
      number = sum
    }
    self.init(epoch: epoch, revision: Revision(number))
  }

  /// Appends the text.
  public func write(to text: inout [UInt8]) {
    epoch.write(to: &text)
    text.append(UInt8(ascii: "."))
    text.appendJSON(revision.number)
  }
}

extension Cursor: CustomStringConvertible {
  /// The text, `<epoch>.<revision>`.
  public var description: String {
    var text: [UInt8] = []
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }
}
