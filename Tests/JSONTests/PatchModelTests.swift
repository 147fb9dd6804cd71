// SPDX-License-Identifier: MIT
import JSON
import Testing

/// Random patches of random values, against the RFCs' algorithms written down the plain way.
@Suite struct `Random patches` {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `a JSON Patch makes of a value what the plain algorithm makes of it`(seed: UInt64) throws {
    var generator = PatchGenerator(seed: seed)
    var carriedOut = 0
    for _ in 0..<400 {
      let value = generator.value()
      let operations = (0..<Int.random(in: 1...6, using: &generator.random)).map { _ in generator.operation(on: value) }
      let expected = operations.reduce(Optional(value)) { $0.flatMap($1.apply) }
      let document = "[" + operations.map(\.text).joined(separator: ",") + "]"
      let patch = try JSONPatch(JSONText(validating: document))
      let result = try? patch.apply(to: JSONText(validating: value.text)).description
      #expect(result == expected?.text, "seed \(seed): \(document) of \(value.text)")
      carriedOut += result == nil ? 0 : 1
    }
    #expect(carriedOut > 40 && carriedOut < 390, "patches that are all refused, or never, show little")
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `a merge patch makes of a value what the plain algorithm makes of it`(seed: UInt64) throws {
    var generator = PatchGenerator(seed: seed)
    for _ in 0..<400 {
      let (value, patch) = (generator.value(), generator.value())
      let result = MergePatch(try JSONText(validating: patch.text)).apply(to: try JSONText(validating: value.text))
      #expect(result.description == PlainValue.merge(value, patch).text, "seed \(seed): \(patch.text) of \(value.text)")
    }
  }
}

/// A JSON value with the texts of its parts; the number at the beginning of a leaf's key says what it is equal to.
private indirect enum PlainValue {
  case leaf(text: String, equality: Int)
  case array([PlainValue])
  /// Names as they are written, and without escapes.
  case object([(text: String, name: String, value: PlainValue)])

  var text: String {
    switch self {
    case .leaf(let text, _): text
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .object(let members): "{" + members.map { "\($0.text):\($0.value.text)" }.joined(separator: ",") + "}"
    }
  }

  func isEqual(_ other: PlainValue) -> Bool {
    switch (self, other) {
    case (.leaf(_, let left), .leaf(_, let right)): return left == right
    case (.array(let left), .array(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { $0.isEqual($1) }
    case (.object(let left), .object(let right)):
      let names = Set(left.map(\.name))
      return names == Set(right.map(\.name))
        && names.allSatisfy { name in
          guard let one = left.last(where: { $0.name == name }), let two = right.last(where: { $0.name == name }) else {
            return false
          }
          return one.value.isEqual(two.value)
        }
    default: return false
    }
  }

  /// The value at a path; nil when there is none.
  func find(_ path: ArraySlice<String>) -> PlainValue? {
    guard let step = path.first else { return self }
    switch self {
    case .leaf: return nil
    case .array(let elements):
      guard let index = Int(step), elements.indices.contains(index) else { return nil }
      return elements[index].find(path.dropFirst())
    case .object(let members): return members.last { $0.name == step }?.value.find(path.dropFirst())
    }
  }

  /// The value with the container of what a path names changed; nil when there is no such container.
  func changing(_ path: ArraySlice<String>, _ change: (PlainValue, String) -> PlainValue?) -> PlainValue? {
    guard let step = path.first else { return nil }
    if path.count == 1 { return change(self, step) }
    switch self {
    case .leaf: return nil
    case .array(var elements):
      guard let index = Int(step), elements.indices.contains(index) else { return nil }
      guard let new = elements[index].changing(path.dropFirst(), change) else { return nil }
      elements[index] = new
      return .array(elements)
    case .object(var members):
      guard let place = members.lastIndex(where: { $0.name == step }) else { return nil }
      guard let new = members[place].value.changing(path.dropFirst(), change) else { return nil }
      members[place].value = new
      return .object(members)
    }
  }

  func adding(_ value: PlainValue, at path: [String]) -> PlainValue? {
    if path.isEmpty { return value }
    return changing(path[...]) { container, step in
      switch container {
      case .leaf: return nil
      case .array(var elements):
        guard let index = step == "-" ? elements.count : Int(step), (0...elements.count).contains(index) else {
          return nil
        }
        elements.insert(value, at: index)
        return .array(elements)
      case .object(var members):
        if let place = members.lastIndex(where: { $0.name == step }) {
          members[place].value = value
        } else {
          members.append(("\"\(step)\"", step, value))
        }
        return .object(members)
      }
    }
  }

  func removing(_ path: [String]) -> PlainValue? {
    guard find(path[...]) != nil else { return nil }
    return changing(path[...]) { container, step in
      switch container {
      case .leaf: return nil
      case .array(var elements):
        guard let index = Int(step) else { return nil }
        elements.remove(at: index)
        return .array(elements)
      case .object(let members): return .object(members.filter { $0.name != step })
      }
    }
  }

  /// RFC 7396 §2; of members with the same name the last counts, and the others go when one is patched.
  static func merge(_ target: PlainValue?, _ patch: PlainValue) -> PlainValue {
    guard case .object(let changes) = patch else { return patch }
    var members: [(text: String, name: String, value: PlainValue)] = []
    if case .object(let before) = target { members = before }
    let before = members
    for name in changes.map(\.name).reduce(into: [String](), { if !$0.contains($1) { $0.append($1) } }) {
      guard let last = changes.last(where: { $0.name == name }), let first = changes.first(where: { $0.name == name })
      else { continue }
      let old = before.last { $0.name == name }
      let place = members.lastIndex { $0.name == name }
      if case .leaf(let text, _) = last.value, text == "null" {
        members.removeAll { $0.name == name }
      } else if let place {
        members[place].value = merge(old?.value, last.value)
        let key = members[place].text
        let value = members[place].value
        let following = members[(place + 1)...]
        members = members[..<place].filter { $0.name != name } + [(key, name, value)] + following
      } else {
        members.append((first.text, name, merge(nil, last.value)))
      }
    }
    return .object(members)
  }
}

private struct PlainOperation {
  let text: String
  let apply: (PlainValue) -> PlainValue?
}

private struct PatchGenerator {
  var random: SeededGenerator

  /// Names as they are written, and without escapes.
  private static let names = [
    ("\"a\"", "a"), (#""\u0061""#, "a"), ("\"b\"", "b"), ("\"0\"", "0"), (#""\u00e9c""#, "éc"),
  ]
  /// Texts of leaves; those of the same number are equal.
  private static let leaves = [
    ("null", 0), ("true", 1), ("false", 2), ("0", 3), ("-0.0", 3), ("0e9", 3), ("1", 4), ("1.0", 4), ("10e-1", 4),
    ("100E-2", 4), ("-1", 5), ("25", 6), ("2.5e1", 6), ("0.025e+3", 6), ("1001.10", 7), ("1001.1", 7), ("100110e-2", 7),
    (#""""#, 8), (#""x""#, 9), (#""\u0078""#, 9), (#""é""#, 10), (#""\u00E9""#, 10), ("{}", 11), ("10", 12),
  ]

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func value(depth: Int = 0) -> PlainValue {
    switch Int.random(in: 0..<(depth < 4 ? 8 : 3), using: &random) {
    case 0...2:
      let leaf = Self.leaves[Int.random(in: Self.leaves.indices, using: &random)]
      return leaf.0 == "{}" ? .object([]) : .leaf(text: leaf.0, equality: leaf.1)
    case 3...4:
      return .array((0..<Int.random(in: 0...5, using: &random)).map { _ in value(depth: depth + 1) })
    default:
      return .object(
        (0..<Int.random(in: 0...5, using: &random)).map { _ in
          let name = Self.names[Int.random(in: Self.names.indices, using: &random)]
          return (name.0, name.1, value(depth: depth + 1))
        })
    }
  }

  /// A path to something in a value, or almost.
  private mutating func path(in value: PlainValue) -> [String] {
    var steps: [String] = []
    var present = value
    while !random.once(in: 4) {
      switch present {
      case .leaf: return steps
      case .array(let elements):
        let index = Int.random(in: 0...elements.count, using: &random)
        steps.append(random.once(in: 8) ? "-" : String(index))
        guard elements.indices.contains(index) else { return steps }
        present = elements[index]
      case .object(let members):
        let name = Self.names[Int.random(in: Self.names.indices, using: &random)].1
        steps.append(name)
        guard let member = members.last(where: { $0.name == name }) else { return steps }
        present = member.value
      }
    }
    return steps
  }

  mutating func operation(on value: PlainValue) -> PlainOperation {
    let path = path(in: value)
    let pointer = path.map { "/\($0)" }.joined()
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      let new = self.value(depth: 3)
      return PlainOperation(text: #"{"op":"add","path":"\#(pointer)","value":\#(new.text)}"#) {
        $0.adding(new, at: path)
      }
    case 1: return PlainOperation(text: #"{"op":"remove","path":"\#(pointer)"}"#) { $0.removing(path) }
    case 2:
      let new = self.value(depth: 3)
      return PlainOperation(text: #"{"op":"replace","path":"\#(pointer)","value":\#(new.text)}"#) { value in
        guard value.find(path[...]) != nil else { return nil }
        guard let last = path.last else { return new }
        // Of an array in its place, of an object in the place of the last with the name.
        guard Int(last) != nil, let rest = value.removing(path), case .array = value.find(path.dropLast()[...]) else {
          return value.adding(new, at: path)
        }
        return rest.adding(new, at: path)
      }
    case 3:
      let from = self.path(in: value)
      let text = #"{"op":"move","from":"\#(from.map { "/\($0)" }.joined())","path":"\#(pointer)"}"#
      return PlainOperation(text: text) { value in
        guard let moved = value.find(from[...]) else { return nil }
        if from == path { return value }
        if path.starts(with: from) { return nil }
        return value.removing(from)?.adding(moved, at: path)
      }
    case 4:
      let from = self.path(in: value)
      let text = #"{"op":"copy","from":"\#(from.map { "/\($0)" }.joined())","path":"\#(pointer)"}"#
      return PlainOperation(text: text) { value in value.find(from[...]).flatMap { value.adding($0, at: path) } }
    default:
      let found = random.once(in: 4) ? self.value(depth: 2) : value.find(path[...]) ?? .array([])
      let tested = rewritten(found)
      return PlainOperation(text: #"{"op":"test","path":"\#(pointer)","value":\#(tested.text)}"#) { value in
        value.find(path[...]).map { $0.isEqual(tested) } == true ? value : nil
      }
    }
  }

  /// The same value in other words: equal leaves, members in another order.
  private mutating func rewritten(_ value: PlainValue) -> PlainValue {
    switch value {
    case .leaf(_, let equality):
      let equal = Self.leaves.filter { $0.1 == equality }
      return .leaf(text: equal[Int.random(in: equal.indices, using: &random)].0, equality: equality)
    case .array(let elements): return .array(elements.map { rewritten($0) })
    case .object(let members):
      // Those with the same name stay in order.
      let names = Array(Set(members.map(\.name)).sorted()).shuffled(using: &random)
      return .object(
        names.flatMap { name in members.filter { $0.name == name } }.map { ($0.text, $0.name, rewritten($0.value)) })
    }
  }
}
