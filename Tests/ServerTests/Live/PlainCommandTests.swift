// SPDX-License-Identifier: MIT

import JSON
@testable import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// What is read straight from bytes means what the message means.
@Suite struct `Plain commands` {
  private let configuration = LiveConfiguration(
    values: JSONLimits(bytes: 64, depth: 4), paths: PathLimits(depth: 4, segmentBytes: 16, bytes: 40))

  @Test(arguments: [
    (#"{"id":1,"type":"get","path":"a/b"}"#, "get 1 a/b"),
    (#" { "path" : "a" , "type" : "get" , "id" : 0 } "#, "get 0 a"),
    (
      #"{"id":9007199254740991,"type":"set","path":"ä","value": [1, {"a" : null}] }"#,
      #"set 9007199254740991 ä [1,{"a":null}]"#
    ),
    (#"{"value":"\u00e4\\","id":7,"path":"x","type":"set"}"#, #"set 7 x "\u00e4\\""#),
    (#"{"id":1,"type":"set","path":"a","value":1e400}"#, "set 1 a 1e400"),
  ])
  func `a get or a set with the members that it needs is read, in any order and spacing`(text: String, facts: String) {
    #expect(plain(text) == facts)
    #expect(whole(text) == facts)
  }

  @Test(arguments: [
    #"{"id":1,"type":"get","path":"a","watchers":true}"#, #"{"id":1,"type":"set","path":"a","value":1,"ttl":"1s"}"#,
    #"{"id":1,"type":"delete","path":"a"}"#, #"{"id":1,"type":"get","path":"\u0061"}"#,
    #"{"\u0069d":1,"type":"get","path":"a"}"#,
    #"{"id":01,"type":"get","path":"a"}"#, #"{"id":1.0,"type":"get","path":"a"}"#,
    #"{"id":-1,"type":"get","path":"a"}"#,
    #"{"id":9007199254740992,"type":"get","path":"a"}"#, #"{"id":1,"id":1,"type":"get","path":"a"}"#,
    #"{"id":1,"type":"get","path":"a"}x"#, #"{"id":1,"type":"get","path":"a"},"#, #"{"id":1,"type":"get","path":"a""#,
    #"{"id":1,"type":"get","path":"a","value":1}"#, #"{"id":1,"type":"set","path":"a"}"#,
    #"{"id":1,"type":"set","path":"a","value":[[[[[1]]]]]}"#, #"{"id":1,"type":"set","path":"a","value":1 2}"#,
    #"{"type":"get","path":"a"}"#, #"{"id":1,"type":"get"}"#, #"{}"#, "[]", "", "null",
    #"{"id":1 "type":"get","path":"a"}"#,
  ])
  func `anything else is left to those who read it all`(text: String) { #expect(plain(text) == nil) }

  @Test func `whatever is read straight from bytes, the message says the same`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SplitMix(state: seed)
    var read = 0
    for _ in 0..<20_000 {
      let text = message(&random)
      guard let facts = plain(text) else { continue }
      read += 1
      #expect(whole(text) == facts, "\(text), seed \(seed)")
    }
    #expect(read > 1000)
  }

  private func plain(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard let command = PlainCommand(bytes.span, values: configuration.values) else { return nil }
    let path = String(decoding: bytes[command.path], as: UTF8.self)
    return switch command.action {
    case .get: "get \(command.id) \(path)"
    case .set(let value): "set \(command.id) \(path) \(value)"
    }
  }

  private func whole(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    // A path that is none is refused behind both.
    let message: ClientMessage
    do throws(ClientMessage.Refusal) {
      message = try ClientMessage(bytes.span, configuration: configuration, operationLimit: 1, holder: nil)
    } catch {
      return error.problem.code == .badPath ? plain(text) : "\(error.problem.code)"
    }
    switch message.command {
    case .get(let path, watchers: false): return "get \(message.id) \(path)"
    case .write(let request):
      guard case .apply(.set(let value, always: false, ttl: nil, holder: nil)) = request.effect,
        request.condition == .any, request.filter == nil
      else { return "another write" }
      return "set \(message.id) \(request.path) \(value)"
    default: return "another command"
    }
  }

  /// A message that is nearly right.
  private func message(_ random: inout SplitMix) -> String {
    let names = [
      "\"id\"", "\"type\"", "\"path\"", "\"value\"", "\"id\"", "\"type\"", "\"path\"", "\"x\"", "\"\\u0069d\"", "id",
    ]
    let values: [String: [String]] = [
      "\"id\"": ["1", "0", "12345678901234567890", "1.5", "\"1\"", "-1", "00", "1e1"],
      "\"type\"": ["\"set\"", "\"get\"", "\"gets\"", "1", "\"s\\u0065t\""],
      "\"path\"": ["\"a\"", "\"a/b\"", "\"é\"", "\"a//b\"", "\"\"", "\"a\\/b\"", "1", "\"ab"],
      "\"value\"": [
        "1", "{ \"a\" : [ ] }", "[[[[[]]]]]", "\"x\\n\"", "nul", "1.", "\"\(String(repeating: "y", count: 80))\"",
        "-0.5e-3",
      ],
    ]
    let count = Int.random(in: 2...5, using: &random)
    var chosen = ["\"id\"", "\"type\"", "\"path\"", "\"value\""].shuffled(using: &random).prefix(count) + []
    if Int.random(in: 0..<4, using: &random) == 0 { chosen.append(names.randomElement(using: &random)!) }
    var text = "{"
    for (index, name) in chosen.enumerated() {
      if index > 0 { text += seldom(",", [" , ", ";", "", ",,"], &random) }
      let value = values[name].map { seldom($0[0], Array($0.dropFirst()), &random) } ?? "1"
      text += name + seldom(":", [": ", " :", "", "::"], &random) + value
    }
    return text + seldom("}", ["} ", "}}", "", "},"], &random)
  }

  private func seldom(_ usual: String, _ others: [String], _ random: inout SplitMix) -> String {
    Int.random(in: 0..<8, using: &random) > 0 ? usual : others[Int.random(in: 0..<others.count, using: &random)]
  }
}
