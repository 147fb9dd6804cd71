// SPDX-License-Identifier: MIT

import Foundation
import JSON

/// Measures validating, compacting and finding the structure, beside Foundation.
///
/// Foundation has one way to validate, which is to build its objects, and one to compact, which is to write them again.
func measureJSON(_ harness: inout Harness) throws {
  let sources = [
    ("88 B", #"{"device":"kitchen-1","temperature":21.5,"humidity":40,"ok":true,"tags":["a","b"],"n":1}"#),
    ("1 KB", readings(6, bytes: 1024)), ("10 KB", readings(62, bytes: 10_240)),
  ]
  for (size, source) in sources {
    let compact = Array(source.utf8)
    let compactData = Data(compact)
    let objects = Candidate("JSONSerialization, objects") { times in
      try sum(times) { try memberCount(JSONSerialization.jsonObject(with: compactData)) }
    }
    try harness.compare(
      "JSON validate, \(size)",
      { times in try sum(times) { try JSONText(validating: compact.span).bytes.count } }, beside: objects)
    try harness.compare(
      "JSON validate and build tree, \(size)",
      { times in try sum(times) { try JSONTree(JSONText(validating: compact.span)).count(of: .root) } },
      beside: objects)

    let spaced = Array(source.replacing(",", with: ", ").replacing(":", with: ": ").utf8)
    let spacedData = Data(spaced)
    try harness.compare(
      "JSON validate and compact, \(size)",
      { times in try sum(times) { try JSONText(validating: spaced.span).bytes.count } },
      beside: Candidate("JSONSerialization, objects and back") { times in
        try sum(times) {
          try JSONSerialization.data(withJSONObject: JSONSerialization.jsonObject(with: spacedData)).count
        }
      })
  }
}

/// Does something so many times and adds up what it gives.
@inline(__always)
func sum(_ times: Int, _ body: () throws -> Int) rethrows -> Int {
  var sum = 0
  for _ in 0..<times { sum &+= try body() }
  return sum
}

private func memberCount(_ object: Any) -> Int {
  (object as? [String: Any])?.count ?? (object as? [Any])?.count ?? 0
}

/// An array of objects as sensors send them, about 160 bytes each, and a string that brings it to the size.
private func readings(_ count: Int, bytes: Int) -> String {
  let readings = (0..<count).map { number in
    #"{"id":\#(number),"name":"sensor-\#(number)","location":{"building":"HQ","floor":\#(number % 7)},"#
      + #""value":\#(Double(number) * 1.25),"unit":"°C","ok":\#(number % 3 != 0),"#
      + #""history":[\#(number),\#(number + 1),20.5,21.25],"note":"calibrated in spring"}"#
  }
  let start = "[" + readings.joined(separator: ",") + ",\""
  return start + String(repeating: "-", count: bytes - start.utf8.count - 2) + "\"]"
}
