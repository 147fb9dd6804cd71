// SPDX-License-Identifier: MIT

/// A message of NATS, as it was received.
struct NATSMessage: Equatable {
  var subject: [UInt8]
  /// The number of the subscription.
  var subscription: UInt64
  /// Where an answer is expected; empty for nowhere.
  var reply: [UInt8] = []
  /// The lines of the header, with the first that names the version and perhaps a status; empty for none.
  var header: [UInt8] = []
  var payload: [UInt8] = []

  /// The status in the first line of the header, such as 404; nil when there is none.
  var status: Int? {
    guard header.starts(with: Self.version) else { return nil }
    let digits = header.dropFirst(Self.version.count).drop { $0 == UInt8(ascii: " ") }.prefix {
      $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
    }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  /// The value of a field of the header, the first if there are several; names are compared as they are.
  func field(_ name: StaticString) -> ArraySlice<UInt8>? {
    let name = Array("\(name):".utf8)
    for line in header.split(separator: UInt8(ascii: "\n")) where line.starts(with: name) {
      var value = line.dropFirst(name.count)
      while value.first == UInt8(ascii: " ") { value.removeFirst() }
      while value.last == UInt8(ascii: "\r") || value.last == UInt8(ascii: " ") { value.removeLast() }
      return value
    }
    return nil
  }

  /// The same as a number.
  func number(_ name: StaticString) -> UInt64? { field(name).flatMap { UInt64(String(decoding: $0, as: UTF8.self)) } }

  private static let version = Array("NATS/1.0".utf8)
}

/// What a server of NATS sends.
enum NATSEvent: Equatable {
  /// What it says about itself: an object of JSON.
  case info([UInt8])
  case message(NATSMessage)
  case ping
  case pong
  case ok
  /// Something went wrong, in words.
  case error(String)
}

/// The bytes are not of the protocol, or more than is taken.
struct NATSSyntaxError: Error, Equatable {}
