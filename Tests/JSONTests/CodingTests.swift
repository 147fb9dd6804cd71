// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import JSON

private struct Room: Codable, Equatable {
  enum Kind: String, Codable { case kitchen, hall }
  struct Size: Codable, Equatable { var width: Double, height: Float }
  var name: String
  var kind: Kind
  var size: Size?
  var levels: [Int]
  var flags: [String: Bool]
  var raw: JSONText
  var far: UInt64
  var missing: Int?
}

private indirect enum Nested: Codable, Equatable {
  case end
  case one(Nested)
}

private final class Endless: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(self)
  }
}

private final class EndlessArray: Encodable {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(self)
  }
}

@Suite struct `Values of Swift types` {
  private let room = Room(
    name: "a \"b\" \n ü", kind: .kitchen, size: .init(width: 2.5, height: 0.1), levels: [1, -2],
    flags: ["x": true], raw: .null, far: .max, missing: nil)

  @Test func `what is encoded reads back`() throws {
    let text = try JSONText(encoding: room)
    #expect(try text.decode(as: Room.self) == room)
    #expect(
      text.description
        == #"{"name":"a \"b\" \n ü","kind":"kitchen","size":{"width":2.5,"height":0.1},"levels":[1,-2],"#
        + #""flags":{"x":true},"raw":null,"far":18446744073709551615}"#)
  }

  @Test func `Foundation reads what is encoded, and the other way round`() throws {
    let text = try JSONText(encoding: room.flags)
    #expect(try JSONDecoder().decode([String: Bool].self, from: Data(text.bytes)) == room.flags)
    let data = try JSONEncoder().encode(room.size)
    #expect(try JSONText(validating: [UInt8](data)).decode(as: Room.Size.self) == room.size)
  }

  /// Two names that look alike, and are the same for a String, are two members.
  @Test func `members are told apart by the bytes of their names`() throws {
    struct Names: Encodable {
      struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(1, forKey: Key(stringValue: "\u{E9}"))
        try container.encode(2, forKey: Key(stringValue: "e\u{301}"))
      }
    }
    let text = try JSONText(encoding: Names())
    #expect(text.bytes == Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8))
  }

  @Test func `single values are texts of their own`() throws {
    #expect(try JSONText(encoding: 21.5).description == "21.5")
    #expect(try JSONText(encoding: Int?.none).description == "null")
    #expect(try JSONText(encoding: [Int?]([1, nil])).description == "[1,null]")
    #expect(try JSONText(validating: "21").decode(as: Double.self) == 21)
    #expect(try JSONText(validating: "null").decode(as: Int?.self) == nil)
    #expect(try JSONText(validating: "[1,null]").decode(as: [Int?].self) == [1, nil])
    #expect(try JSONText(validating: #"{"a":1,"a":2}"#).decode(as: [String: Int].self) == ["a": 2])
    #expect(try JSONText(validating: #"{"b":{"c":[1]}}"#).decode(as: JSONText.self).description == #"{"b":{"c":[1]}}"#)
  }

  @Test(arguments: [
    ("\"x\"", "Expected a number"), ("1e400", "Expected a number of its range"), ("null", "Expected a number"),
    ("{}", "Expected a number"), ("[1]", "Expected a number"), ("true", "Expected a number"),
  ])
  func `another shape is refused with what was expected`(text: String, reason: String) throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONText(validating: text).decode(as: Double.self)
    }
    #expect("\(try #require(error))".contains(reason))
  }

  @Test(arguments: ["1.0", "300", "-1", "1e2", "18446744073709551616"])
  func `a number that does not fit is refused`(text: String) throws {
    #expect(throws: DecodingError.self) { try JSONText(validating: text).decode(as: UInt8.self) }
  }

  @Test func `the place of what does not fit is named`() throws {
    let text = try JSONText(validating: #"[{"width":1,"height":1},{"width":1,"height":"x"}]"#)
    let error = #expect(throws: DecodingError.self) { try text.decode(as: [Room.Size].self) }
    guard case .typeMismatch(_, let context) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["1", "height"])
    #expect(throws: DecodingError.self) { try JSONText(validating: "{}").decode(as: Room.Size.self) }
    #expect(throws: DecodingError.self) { try JSONText(validating: "[1]").decode(as: (Pair).self) }
  }

  private struct Pair: Decodable {
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      _ = try container.decode(Int.self)
      _ = try container.decode(Int.self)
    }
  }

  @Test func `what JSON cannot say is refused`() {
    for value in [Double.nan, .infinity, -.infinity] {
      #expect(throws: EncodingError.self) { try JSONText(encoding: value) }
      #expect(throws: EncodingError.self) { try JSONText(encoding: [value]) }
    }
    #expect(throws: EncodingError.self) { try JSONText(encoding: Endless()) }
    #expect(throws: EncodingError.self) { try JSONText(encoding: EndlessArray()) }
  }

  @Test func `nesting is followed as deep as a text may be`() throws {
    var value = Nested.end
    for _ in 0..<120 { value = .one(value) }
    #expect(try JSONText(encoding: value).decode(as: Nested.self) == value)
    for _ in 0..<20 { value = .one(value) }
    #expect(throws: EncodingError.self) { try JSONText(encoding: value) }
  }
}
