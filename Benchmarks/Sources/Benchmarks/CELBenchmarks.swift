// SPDX-License-Identifier: MIT

import CEL
import JSON

/// Measures compiling and evaluating filters, beside closures that a Swift programmer would write over the same values.
func measureCEL(_ harness: inout Harness) throws {
  try measureFilter(&harness, "value > 21.0", value: "22.5", oldValue: "20.5") { value, _, _ in
    (value.double(.root) ?? -.infinity) > 21
  }
  try measureFilter(
    &harness, "value.temp > 21.0 && oldValue.temp <= 21.0", value: #"{"temp":22.5,"unit":"C"}"#,
    oldValue: #"{"temp":20.5,"unit":"C"}"#
  ) { value, oldValue, _ in
    guard let new = value.member("temp", of: .root).flatMap(value.double), new > 21,
      let old = oldValue.member("temp", of: .root).flatMap(oldValue.double)
    else { return false }
    return old <= 21
  }
  let prefix = Array("a/".utf8)
  let tag = Array("x".utf8)
  try measureFilter(
    &harness, #"path.startsWith("a/") && value.tags.exists(t, t == "x")"#,
    value: #"{"temp":22.5,"tags":["a","b","x"]}"#, oldValue: "null"
  ) { value, _, path in
    guard path.starts(with: prefix), let tags = value.member("tags", of: .root) else { return false }
    return value.elements(of: tags).contains { value.string($0, equals: tag.span) == true }
  }
}

/// Measures a filter over a change that it matches.
///
/// `Benchmarks/cel.py` has the same expressions and values.
private func measureFilter(
  _ harness: inout Harness, _ source: String, value: String, oldValue: String,
  beside byHand: @escaping @Sendable (JSONTree, JSONTree, [UInt8]) -> Bool
) throws {
  try harness.compare("CEL compile `\(source)`") { times in
    try sum(times) { try Program(filter: source).variables.count }
  }

  let program = try Program(filter: source)
  let path = Array("a/temperature".utf8)
  let new = JSONTree(try JSONText(validating: value))
  let old = JSONTree(try JSONText(validating: oldValue))
  let activation = Activation(path: path, value: new, oldValue: old, revision: 7, milliseconds: 1)
  precondition(program.matches(activation) && byHand(new, old, path), "the filter and its baseline match the change")
  let closure = Candidate("Swift closure") { times in sum(times) { byHand(new, old, path) ? 1 : 0 } }
  try harness.compare(
    "CEL match `\(source)`", { times in sum(times) { program.matches(activation) ? 1 : 0 } }, beside: closure)
  try harness.compare(
    "CEL activation and match `\(source)`",
    { times in
      sum(times) {
        let activation = Activation(path: path, value: new, oldValue: old, revision: 7, milliseconds: 1)
        return program.matches(activation) ? 1 : 0
      }
    }, beside: closure)
  var moved = activation
  try harness.compare(
    "CEL moved activation and match `\(source)`",
    { times in
      sum(times) {
        moved.update(path: path, value: new, oldValue: old, revision: 7, milliseconds: 1)
        return program.matches(moved) ? 1 : 0
      }
    }, beside: closure)
}
