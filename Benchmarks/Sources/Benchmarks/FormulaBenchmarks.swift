// SPDX-License-Identifier: MIT

import CEL
import JSON
import SignalStore

/// Measures the longest commits that formulas can make with every limit at its default: nearly all of the time is spent under
/// the lock of the store, while everybody else waits.
func measureFormulas(_ harness: inout Harness) throws {
  let list = try array(of: 350)
  try measure("200 formulas over 350 elements each", list, &harness) { store in
    for number in 0..<200 {
      let source = "properties.a.all(x, properties.a.all(y, x + y >= 0 - \(number)))"
      try store.define(PropertyPath("f/\(number)"), formula(source))
    }
  }
  try measure("5000 formulas that read one property", JSONText(1), &harness) { store in
    for number in 0..<5000 { try store.define(PropertyPath("f/\(number)"), formula("properties.a + \(number)")) }
  }
  try measure("50 chains of 100 formulas", JSONText(1), &harness) { store in
    for chain in 0..<50 {
      for place in 0..<100 {
        let input = place == 0 ? "a" : "c\(chain)/\(place - 1)"
        try store.define(PropertyPath("c\(chain)/\(place)"), formula("properties['\(input)'] + 1"))
      }
    }
  }
  try measure("200 copies of 1 MiB", try array(of: 140_000), &harness) { store in
    for number in 0..<200 { try store.define(PropertyPath("f/\(number)"), formula("properties.a\(spaces(number))")) }
  }
  try measure("a list of texts made of a list", try array(of: 20_000), &harness) { store in
    try store.define("f", formula("properties.a.map(x, '%s %d'.format([x, 5]))"))
  }
}

/// Measures a set of a property, back and forth between 0 and a value.
private func measure(
  _ what: String, _ value: JSONText, _ harness: inout Harness, define: (PropertyStore) throws -> Void
) throws {
  let name = "set beside \(what)"
  guard harness.wants(name) else { return }
  let store = PropertyStore()
  try store.set("a", JSONText(0))
  try define(store)
  try harness.compare(name) { times in
    for _ in 0..<times {
      try store.set("a", value)
      try store.set("a", JSONText(0))
    }
    return Int(store.revision.number)
  }
}

private func array(of count: Int) throws -> JSONText {
  try JSONText(validating: "[\((0..<count).map(String.init).joined(separator: ","))]")
}

/// Makes texts different that mean the same.
private func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }

/// A formula in CEL, as the server makes it.
private func formula(_ source: String) throws -> Formula {
  let environment = CELEnvironment(variables: [CELVariable(lookup: "properties")])
  let program = try Program(compiling: source, environment: environment)
  let paths = try program.lookupKeys.map { try PropertyPath($0) }
  return Formula(source: source, inputs: paths) { read, budget in
    let inputs = paths.map(read)
    budget.units -= inputs.reduce(0) { $0 + ($1?.value.bytes.count ?? 0) } / 6
    if budget.isUsedUp { return .failure("") }
    var activation = Activation()
    activation.lookup = { key in
      program.lookupKeys.firstIndex(of: key).flatMap { inputs[$0] }.map { JSONTree($0.value) }
    }
    switch program.evaluate(activation, budget: &budget.units) {
    case .failure(let error): return .failure(error.rendering(in: source))
    case .success(let value): return value.json(limits: JSONLimits()).map { .value($0) } ?? .failure("no JSON")
    }
  }
}
