// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

/// Generated documents against two oracles: a grammar written down the plain way, and Foundation's reader.
@Suite struct `Random documents` {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `a generated document loses its white space and nothing else`(seed: UInt64) throws {
    var generator = DocumentGenerator(seed: seed)
    for _ in 0..<200 {
      let document = generator.document()
      let text = try JSONText(validating: document.spaced)
      #expect(text.bytes == document.compact, "seed \(seed): \(String(decoding: document.spaced, as: UTF8.self))")
      #expect(try JSONText(validating: text.bytes) == text)
    }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `the tree of a document says what Foundation reads in it`(seed: UInt64) throws {
    var generator = DocumentGenerator(seed: seed)
    for _ in 0..<100 {
      let document = generator.document()
      let data = Data(document.spaced)
      let expected = Model(foundation: try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed))
      let tree = JSONTree(try JSONText(validating: document.spaced))
      #expect(
        Model(tree, .root).agrees(with: expected), "seed \(seed): \(String(decoding: document.spaced, as: UTF8.self))")
    }
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `a damaged document is judged as the grammar judges it`(seed: UInt64) throws {
    var generator = DocumentGenerator(seed: seed)
    var accepted = 0
    for _ in 0..<600 {
      let source = generator.damage(generator.document().spaced)
      let verdict = refusal(source)
      accepted += verdict == nil ? 1 : 0
      #expect((verdict == nil) == Grammar.accepts(source), "seed \(seed): \(source)")
      if let verdict { #expect((0...source.count).contains(verdict.offset)) }
    }
    // Damage must not be so heavy that only one verdict is tested.
    #expect(accepted > 30 && accepted < 570)
  }

  @Test func `all short texts over the characters of the grammar are judged as the grammar judges them`() {
    let alphabet = Array(#"[]{},:"\0-1.e+ u"#.utf8) + Array("tn".utf8)
    var source: [UInt8] = []
    func extend(_ rest: Int) {
      #expect((refusal(source) == nil) == Grammar.accepts(source), "\(String(decoding: source, as: UTF8.self))")
      guard rest > 0 else { return }
      for byte in alphabet {
        source.append(byte)
        extend(rest - 1)
        source.removeLast()
      }
    }
    extend(4)
  }
}

/// What a value means, for comparison: numbers as doubles, members without order, the last of equal names.
private indirect enum Model {
  case null
  case bool(Bool)
  case number(Double)
  case string([UInt8])
  case array([Model])
  case object([[UInt8]: Model])

  /// Equality, but numbers may differ in the last places: Foundation reads some of them by way of `Decimal`.
  func agrees(with other: Model) -> Bool {
    switch (self, other) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): abs(left - right) <= abs(left) * 1e-14
    case (.string(let left), .string(let right)): left == right
    case (.array(let left), .array(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.agrees(with: $1) }
    case (.object(let left), .object(let right)):
      left.count == right.count && left.allSatisfy { name, value in right[name].map(value.agrees(with:)) == true }
    default: false
    }
  }

  init(_ tree: JSONTree, _ node: JSONTree.Node) {
    switch tree.kind(of: node) {
    case .null: self = .null
    case .true, .false: self = .bool(tree.bool(node) == true)
    case .number: self = .number(tree.double(node) ?? .nan)
    case .string, .key: self = .string(Array((tree.string(node) ?? "").utf8))
    case .array: self = .array(tree.elements(of: node).map { Model(tree, $0) })
    case .object:
      var members: [[UInt8]: Model] = [:]
      for key in tree.keys(of: node) {
        let name = Array((tree.string(key) ?? "").utf8)
        let value = tree.value(ofKey: key)
        // Names are different here, so looking one up finds the member that was just met.
        #expect(tree.find(name, in: node) == value)
        members[name] = value.map { Model(tree, $0) }
      }
      self = .object(members)
    }
  }

  init(foundation value: Any) {
    switch value {
    case is NSNull: self = .null
    case let text as String: self = .string(Array(text.utf8))
    case let values as [Any]: self = .array(values.map(Model.init(foundation:)))
    case let members as [String: Any]:
      self = .object(Dictionary(uniqueKeysWithValues: members.map { (Array($0.utf8), Model(foundation: $1)) }))
    case let number as NSNumber:
      // Foundation's booleans are numbers of C type char.
      let isBool = unsafe String(cString: number.objCType) == "c"
      self = isBool ? .bool(number.boolValue) : .number(number.doubleValue)
    default: preconditionFailure("JSONSerialization gave a \(type(of: value))")
    }
  }
}
