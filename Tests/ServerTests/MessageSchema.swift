// SPDX-License-Identifier: MIT
import Foundation
import JSON

/// `messages.schema.json`, and as much of JSON Schema as it uses.
struct MessageSchema {
  struct Mistake: Error, CustomStringConvertible {
    let description: String
  }

  private let schema: JSONTree

  init() throws {
    schema = JSONTree(try JSONText(validating: try Self.file("Sources/SignalHTTP/API/messages.schema.json")))
  }

  /// A file of the repository.
  static func file(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(path)")
    return try String(contentsOf: root, encoding: .utf8)
  }

  private func definition(_ name: String) throws -> JSONTree.Node {
    guard let node = schema.member("definitions", of: .root).flatMap({ schema.member(name, of: $0) }) else {
      throw Mistake(description: "no definition of \(name)")
    }
    return node
  }

  /// The names of the definitions that this one is one of.
  func alternatives(of name: String) throws -> [String] {
    guard let list = schema.member("oneOf", of: try definition(name)) else { return [] }
    return schema.elements(of: list).compactMap { reference($0) }
  }

  /// What the member `type` of a message is.
  func type(_ name: String) throws -> String {
    try strings(at: [name, "properties", "type", "const"]).first ?? ""
  }

  /// The strings, or the one string, at a place below the definitions.
  func strings(at path: [String]) throws -> [String] {
    var node = try definition(path[0])
    for name in path.dropFirst() {
      guard let next = schema.member(name, of: node) else { throw Mistake(description: "no \(path)") }
      node = next
    }
    return schema.string(node).map { [$0] } ?? schema.elements(of: node).compactMap { schema.string($0) }
  }

  /// The pattern of a definition that is a string.
  func pattern(of name: String) throws -> String { try strings(at: [name, "pattern"]).first ?? "" }

  private func reference(_ node: JSONTree.Node) -> String? {
    schema.member("$ref", of: node).flatMap { schema.string($0) }.map { String($0.dropFirst("#/definitions/".count)) }
  }

  /// What is wrong with a text that should be what a definition says.
  ///
  /// - Parameter isClosed: Whether a member that is not in the schema is a fault everywhere.
  func faults(in text: String, as name: String, isClosed: Bool) throws -> [String] {
    let tree = JSONTree(try JSONText(validating: text))
    return try faults(tree, .root, try definition(name), isClosed)
  }

  private func faults(_ tree: JSONTree, _ node: JSONTree.Node, _ rule: JSONTree.Node, _ isClosed: Bool) throws
    -> [String]
  {
    if let name = reference(rule) { return try faults(tree, node, try definition(name), isClosed) }
    var faults: [String] = []
    let members = schema.keys(of: rule).compactMap { key in schema.string(key).map { ($0, schema.value(ofKey: key)!) } }
    for (keyword, value) in members {
      switch keyword {
      case "description", "additionalProperties": break
      case "type": if !isOf(tree, node, schema.string(value) ?? "") { faults.append("no \(schema.text(of: value))") }
      case "const": if tree.text(of: node) != schema.text(of: value) { faults.append("not \(schema.text(of: value))") }
      case "enum":
        if !schema.elements(of: value).contains(where: { schema.text(of: $0) == tree.text(of: node) }) {
          faults.append("\(tree.text(of: node)) is none of \(schema.text(of: value))")
        }
      case "oneOf":
        let all = try schema.elements(of: value).map { try self.faults(tree, node, $0, isClosed) }
        if all.count(where: \.isEmpty) != 1 { faults.append("\(all.count(where: \.isEmpty)) of \(all)") }
      case "required":
        for name in schema.elements(of: value).compactMap({ schema.string($0) })
        where tree.member(name, of: node) == nil { faults.append("no \(name)") }
      case "properties": faults += try propertyFaults(tree, node, rule, value, isClosed)
      case "items": for element in tree.elements(of: node) { faults += try self.faults(tree, element, value, isClosed) }
      case "minItems": if tree.count(of: node) < Int(schema.double(value) ?? 0) { faults.append("too few") }
      case "minLength":
        if (tree.string(node) ?? "").unicodeScalars.count < Int(schema.double(value) ?? 0) {
          faults.append("too short")
        }
      case "maxLength":
        if (tree.string(node) ?? "").unicodeScalars.count > Int(schema.double(value) ?? 0) { faults.append("too long") }
      case "minimum":
        if let number = tree.double(node), number < schema.double(value) ?? 0 { faults.append("too small") }
      case "maximum":
        if let number = tree.double(node), number > schema.double(value) ?? 0 { faults.append("too large") }
      case "exclusiveMinimum":
        if let number = tree.double(node), number <= schema.double(value) ?? 0 { faults.append("too small") }
      case "pattern":
        if let text = tree.string(node), text.firstMatch(of: try Regex(schema.string(value) ?? "")) == nil {
          faults.append("\(text) is not \(schema.text(of: value))")
        }
      default: throw Mistake(description: "an unknown keyword: \(keyword)")
      }
    }
    return faults
  }

  private func propertyFaults(
    _ tree: JSONTree, _ node: JSONTree.Node, _ rule: JSONTree.Node, _ properties: JSONTree.Node, _ isClosed: Bool
  ) throws -> [String] {
    let isClosed = isClosed || schema.member("additionalProperties", of: rule).flatMap { schema.bool($0) } == false
    var faults: [String] = []
    for key in tree.keys(of: node) {
      guard let name = tree.string(key), let value = tree.value(ofKey: key) else { continue }
      if let rule = schema.member(name, of: properties) {
        faults += try self.faults(tree, value, rule, isClosed).map { "\(name): \($0)" }
      } else if isClosed {
        faults.append("unknown \(name)")
      }
    }
    return faults
  }

  private func isOf(_ tree: JSONTree, _ node: JSONTree.Node, _ type: String) -> Bool {
    switch (tree.kind(of: node), type) {
    case (.object, "object"), (.array, "array"), (.string, "string"), (.number, "number"), (.null, "null"),
      (.true, "boolean"), (.false, "boolean"):
      true
    case (.number, "integer"): tree.isInteger(node)
    default: false
    }
  }
}
