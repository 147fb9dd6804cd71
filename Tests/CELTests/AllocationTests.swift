// SPDX-License-Identifier: MIT
import CAllocations
import JSON
import Testing

@testable import CEL

/// What an evaluation takes from the heap.
@Suite struct AllocationTests {
  /// How often 100 evaluations take memory, after one; nil where that is not counted.
  private func allocations(_ source: String, value: String, oldValue: String = "null") throws -> Int? {
    let program = try Program(filter: source)
    let new = JSONTree(try JSONText(validating: value))
    let old = JSONTree(try JSONText(validating: oldValue))
    let path = Array("a/temperature".utf8)
    var activation = Activation(path: path, value: new, oldValue: old, revision: 7, milliseconds: 1)
    try #require(program.matches(activation), "\(source)")
    let before = allocations_of_this_thread()
    guard before >= 0 else { return nil }
    for revision in 0..<100 {
      activation.update(path: path, value: new, oldValue: old, revision: revision, milliseconds: 1)
      _ = program.matches(activation)
    }
    return allocations_of_this_thread() - before
  }

  @Test(arguments: [
    ("value > 21.0", "22.5", "20.5"),
    ("value.temp > 21.0 && oldValue.temp <= 21.0", #"{"temp":22.5,"unit":"C"}"#, #"{"temp":20.5,"unit":"C"}"#),
    (#"path.startsWith("a/") && value.tags.exists(t, t == "x")"#, #"{"temp":22.5,"tags":["a","b","x"]}"#, "null"),
    ("value.state == 'on' || value.level * 2 - 1 > 3 && revision >= 0", #"{"state":"off","level":7}"#, "1"),
    ("op == 'set' && value.size() == 2 && value[1].contains('b')", #"["a","abc"]"#, "1"),
  ])
  func `comparing, choosing, calculating and searching takes no memory`(
    _ source: String, _ value: String, _ oldValue: String
  ) throws {
    if let count = try allocations(source, value: value, oldValue: oldValue) { #expect(count == 0) }
  }

  @Test func `making a list does`() throws {
    if let count = try allocations("value.map(x, x + 1).size() == 2", value: "[1,2]") { #expect(count >= 100) }
  }
}
