// SPDX-License-Identifier: MIT

extension JSONText {
  /// The text as a value of a Swift type.
  ///
  /// Members are looked up by name, the last of several with one name counts, and those that the type does not know are
  /// passed over. Numbers have to fit: `1.0` is no `Int`, `300` no `UInt8`, `1e400` no `Double`. A lone surrogate
  /// escape becomes U+FFFD. A type nested deeper than ``JSONLimits/depth`` of the text cannot occur.
  ///
  /// - Throws: `DecodingError` that names the place, or what the type's own `init(from:)` throws.
  public func decode<Value: Decodable>(as type: Value.Type) throws -> Value {
    let tree = JSONTree(self)
    return try JSONNodeDecoder(tree: tree, node: tree.root, codingPath: []).decode(type)
  }
}

extension JSONText: Codable {
  /// Decodes a part of a text verbatim, in ``decode(as:)``; other decoders do not have it and are refused.
  public init(from decoder: any Decoder) throws {
    guard let decoder = decoder as? JSONNodeDecoder else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "This decoder has no JSON text."))
    }
    self = decoder.tree.text(of: decoder.node)
  }

  /// Encodes a part of a text verbatim, in ``init(encoding:limits:)``; other encoders cannot take it and are refused.
  public func encode(to encoder: any Encoder) throws {
    guard let encoder = encoder as? JSONPartEncoder else {
      throw EncodingError.invalidValue(
        self,
        EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "This encoder takes no JSON text."))
    }
    encoder.part.content = .text(bytes)
  }
}

/// Decodes one node of a tree.
private struct JSONNodeDecoder: Decoder, SingleValueDecodingContainer {
  let tree: JSONTree
  let node: JSONTree.Node
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard tree.kind(of: node) == .object else { throw mismatch([String: Any].self, "an object") }
    return KeyedDecodingContainer(JSONKeyedDecoder(tree: tree, node: node, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard tree.kind(of: node) == .array else { throw mismatch([Any].self, "an array") }
    return JSONUnkeyedDecoder(tree: tree, node: node, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { tree.kind(of: node) == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard let value = tree.bool(node) else { throw mismatch(type, "true or false") }
    return value
  }

  func decode(_ type: String.Type) throws -> String {
    guard let value = tree.string(node) else { throw mismatch(type, "a string") }
    return value
  }

  func decode(_ type: Double.Type) throws -> Double {
    guard let value = tree.double(node), value.isFinite else { throw mismatch(type, "a number of its range") }
    return value
  }

  func decode(_ type: Float.Type) throws -> Float {
    guard let value = tree.double(node).map(Float.init), value.isFinite else {
      throw mismatch(type, "a number of its range")
    }
    return value
  }

  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try Value(from: self)
  }

  private func integer<Value: FixedWidthInteger>() throws -> Value {
    if let value = tree.int64(node).flatMap({ Value(exactly: $0) }) { return value }
    if let value = tree.uint64(node).flatMap({ Value(exactly: $0) }) { return value }
    throw mismatch(Value.self, "an integer of its range")
  }

  private func mismatch(_ type: Any.Type, _ wanted: String) -> DecodingError {
    let text = tree.text(of: node).description
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "Expected \(wanted), found \(text.prefix(40)).")
    return decodeNil() ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

private struct JSONKeyedDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let tree: JSONTree
  let node: JSONTree.Node
  let codingPath: [any CodingKey]

  var allKeys: [Key] { tree.keys(of: node).compactMap { tree.string($0).flatMap { Key(stringValue: $0) } } }

  func contains(_ key: Key) -> Bool { tree.member(key.stringValue, of: node) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try member(key).decode(type) }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).decode(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).decode(type) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(key).decode(type) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(key).decode(type) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(key).decode(type) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(key).decode(type) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(key).decode(type) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(key).decode(type) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(key).decode(type) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(key).decode(type) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(key).decode(type) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try member(JSONPlace(stringValue: "super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

  private func member(_ key: some CodingKey) throws -> JSONNodeDecoder {
    guard let value = tree.member(key.stringValue, of: node) else {
      throw DecodingError.keyNotFound(
        key, DecodingError.Context(codingPath: codingPath, debugDescription: "There is no \"\(key.stringValue)\"."))
    }
    return JSONNodeDecoder(tree: tree, node: value, codingPath: codingPath + [key])
  }
}

private struct JSONUnkeyedDecoder: UnkeyedDecodingContainer {
  let tree: JSONTree
  let node: JSONTree.Node
  let codingPath: [any CodingKey]
  private var children: JSONTree.Children
  private var upcoming: JSONTree.Node?
  private(set) var currentIndex = 0

  init(tree: JSONTree, node: JSONTree.Node, codingPath: [any CodingKey]) {
    self.tree = tree
    self.node = node
    self.codingPath = codingPath
    children = tree.elements(of: node)
    upcoming = children.next()
  }

  var count: Int? { tree.count(of: node) }
  var isAtEnd: Bool { upcoming == nil }

  mutating func decodeNil() throws -> Bool {
    guard try current(Any.self).decodeNil() else { return false }
    advance()
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try current(type).decode(type)
    advance()
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let container = try current(type).container(keyedBy: type)
    advance()
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try current([Any].self).unkeyedContainer()
    advance()
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try current(Any.self)
    advance()
    return decoder
  }

  private func current(_ type: Any.Type) throws -> JSONNodeDecoder {
    let path = codingPath + [JSONPlace(intValue: currentIndex)]
    guard let upcoming else {
      throw DecodingError.valueNotFound(
        type, DecodingError.Context(codingPath: path, debugDescription: "The array has only \(currentIndex) elements."))
    }
    return JSONNodeDecoder(tree: tree, node: upcoming, codingPath: path)
  }

  private mutating func advance() {
    upcoming = children.next()
    currentIndex += 1
  }
}

/// A place in an array, or a name that no type declares.
struct JSONPlace: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }
}
