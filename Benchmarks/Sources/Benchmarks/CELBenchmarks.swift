// SPDX-License-Identifier: MIT

import CEL
import JSON

/// Measures compiling and evaluating filters, beside closures that a Swift programmer would write over the same values.
func measureCEL(_ harness: inout Harness) throws {
  try measureFilter(&harness, "value > 21.0", value: "22.5", oldValue: "20.5") { value, _ in
    (value.double(.root) ?? -.infinity) > 21
  }
  try measureFilter(
    &harness, "value.temp > 21.0 && oldValue.temp <= 21.0", value: #"{"temp":22.5,"unit":"C"}"#,
    oldValue: #"{"temp":20.5,"unit":"C"}"#
  ) { value, oldValue in
    guard let new = value.member("temp", of: .root).flatMap(value.double), new > 21,
      let old = oldValue.member("temp", of: .root).flatMap(oldValue.double)
    else { return false }
    return old <= 21
  }
}

/// Measures a filter over a change that it matches.
private func measureFilter(
  _ harness: inout Harness, _ source: String, value: String, oldValue: String,
  beside byHand: @escaping @Sendable (JSONTree, JSONTree) -> Bool
) throws {
  try harness.compare("CEL compile `\(source)`") { times in
    try sum(times) { try Program(filter: source).variables.count }
  }

  let program = try Program(filter: source)
  let path = Array("kitchen/temperature".utf8)
  let new = JSONTree(try JSONText(validating: value))
  let old = JSONTree(try JSONText(validating: oldValue))
  let activation = Activation(path: path, value: new, oldValue: old, revision: 7, milliseconds: 1)
  precondition(program.matches(activation) && byHand(new, old), "the filter and its baseline match the change")
  let closure = Candidate("Swift closure") { times in sum(times) { byHand(new, old) ? 1 : 0 } }
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
}
