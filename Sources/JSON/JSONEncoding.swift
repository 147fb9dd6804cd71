// SPDX-License-Identifier: MIT

extension JSONText {
  /// The JSON text of a Swift value.
  ///
  /// Members are in the order in which the value encodes them.
  ///
  /// - Throws: `EncodingError` for a number that is infinite or not one, for a value that encodes nothing, and for one
  ///   nested deeper than ``JSONLimits/depth``; or what the value's own `encode(to:)` throws.
  public init<Value: Encodable>(encoding value: Value, limits: JSONLimits = JSONLimits()) throws {
    let part = JSONPart()
    try JSONPartEncoder(part: part, codingPath: [], depth: 2 * limits.depth + 2).encode(value)
    var bytes: [UInt8] = []
    guard part.write(to: &bytes, depth: limits.depth) else {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: [], debugDescription: "A part of the value encodes nothing, or it is nested too deep."))
    }
    self.init(alreadyCompact: bytes)
  }
}

/// A value that is being encoded: members may still be added to containers when others have been begun.
final class JSONPart {
  enum Content {
    case empty
    case text([UInt8])
    case array([JSONPart])
    case object([(key: String, value: JSONPart)])
  }

  var content = Content.empty
  /// Where each member of an object is, by the bytes of its name: equal strings may be different names.
  private var places: [[UInt8]: Int] = [:]

  /// Appends the text; false, and something of it appended, when a part of it is empty or more containers are nested.
  func write(to bytes: inout [UInt8], depth: Int) -> Bool {
    switch content {
    case .empty: return false
    case .text(let text): bytes.append(contentsOf: text)
    case .array(let elements):
      guard depth > 0 else { return false }
      bytes.append(literal: "[")
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(literal: ",") }
        guard element.write(to: &bytes, depth: depth - 1) else { return false }
      }
      bytes.append(literal: "]")
    case .object(let members):
      guard depth > 0 else { return false }
      bytes.append(literal: "{")
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(literal: ",") }
        bytes.appendJSON(member.key)
        bytes.append(literal: ":")
        guard member.value.write(to: &bytes, depth: depth - 1) else { return false }
      }
      bytes.append(literal: "}")
    }
    return true
  }

  func becomeObject() { if case .object = content {} else { content = .object([]) } }
  func becomeArray() { if case .array = content {} else { content = .array([]) } }

  /// The part of a member, which replaces an earlier one with the same name.
  func member(_ key: String) -> JSONPart {
    let part = JSONPart()
    guard case .object(var members) = content else { return part }
    content = .empty
    let name = Array(key.utf8)
    if let place = places[name] {
      members[place].value = part
    } else {
      places[name] = members.count
      members.append((key, part))
    }
    content = .object(members)
    return part
  }

  func element() -> JSONPart {
    let part = JSONPart()
    guard case .array(var elements) = content else { return part }
    content = .empty
    elements.append(part)
    content = .array(elements)
    return part
  }

  var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }
}

/// Encodes into one part.
struct JSONPartEncoder: Encoder, SingleValueEncodingContainer {
  let part: JSONPart
  let codingPath: [any CodingKey]
  /// How many values may still be nested, those included that add no container.
  let depth: Int
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    part.becomeObject()
    return KeyedEncodingContainer(JSONKeyedEncoder<Key>(part: part, codingPath: codingPath, depth: depth))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    part.becomeArray()
    return JSONUnkeyedEncoder(part: part, codingPath: codingPath, depth: depth)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { part.content = .text(JSONText.null.bytes) }
  func encode(_ value: Bool) { part.content = .text(JSONText(value).bytes) }
  func encode(_ value: String) { part.content = .text(JSONText(value).bytes) }
  func encode(_ value: Float) throws { try number(value, value.isFinite, value.description) }
  func encode(_ value: Double) throws { try number(value, value.isFinite, value.description) }
  func encode(_ value: Int) { integer(Int64(value)) }
  func encode(_ value: Int8) { integer(Int64(value)) }
  func encode(_ value: Int16) { integer(Int64(value)) }
  func encode(_ value: Int32) { integer(Int64(value)) }
  func encode(_ value: Int64) { integer(value) }
  func encode(_ value: UInt) { integer(UInt64(value)) }
  func encode(_ value: UInt8) { integer(UInt64(value)) }
  func encode(_ value: UInt16) { integer(UInt64(value)) }
  func encode(_ value: UInt32) { integer(UInt64(value)) }
  func encode(_ value: UInt64) { integer(value) }

  func encode<Value: Encodable>(_ value: Value) throws {
    // Values that refer to themselves would otherwise recurse forever and crash the program.
    guard depth > 0 else {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: codingPath, debugDescription: "The value is nested too deep."))
    }
    try value.encode(to: JSONPartEncoder(part: part, codingPath: codingPath, depth: depth - 1))
  }

  private func integer(_ value: Int64) {
    var bytes: [UInt8] = []
    bytes.appendJSON(value)
    part.content = .text(bytes)
  }

  private func integer(_ value: UInt64) {
    var bytes: [UInt8] = []
    bytes.appendJSON(value)
    part.content = .text(bytes)
  }

  /// The shortest digits that read back as the same number; they fit the grammar of RFC 8259 §6.
  private func number(_ value: Any, _ isFinite: Bool, _ text: String) throws {
    guard isFinite else {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no \(text) (RFC 8259 §6)."))
    }
    part.content = .text(Array(text.utf8))
  }
}

private struct JSONKeyedEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let part: JSONPart
  let codingPath: [any CodingKey]
  let depth: Int

  func encodeNil(forKey key: Key) { member(key).encodeNil() }
  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Bool, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: String, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Float, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Double, forKey key: Key) throws { try member(key).encode(value) }
  func encode(_ value: Int, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Int8, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Int16, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Int32, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: Int64, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: UInt, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: UInt8, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: UInt16, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: UInt32, forKey key: Key) { member(key).encode(value) }
  func encode(_ value: UInt64, forKey key: Key) { member(key).encode(value) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder(JSONPlace(stringValue: "super")) }
  func superEncoder(forKey key: Key) -> any Encoder { member(key) }

  private func member(_ key: Key) -> JSONPartEncoder { encoder(key) }

  private func encoder(_ key: some CodingKey) -> JSONPartEncoder {
    JSONPartEncoder(part: part.member(key.stringValue), codingPath: codingPath + [key], depth: depth)
  }
}

private struct JSONUnkeyedEncoder: UnkeyedEncodingContainer {
  let part: JSONPart
  let codingPath: [any CodingKey]
  let depth: Int

  var count: Int { part.count }

  func encodeNil() { element().encodeNil() }
  func encode<Value: Encodable>(_ value: Value) throws { try element().encode(value) }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
  func superEncoder() -> any Encoder { element() }

  private func element() -> JSONPartEncoder {
    let path = codingPath + [JSONPlace(intValue: count)]
    return JSONPartEncoder(part: part.element(), codingPath: path, depth: depth)
  }
}
