// SPDX-License-Identifier: MIT
import Testing

@testable import signal_server

@Suite("Suggestions for mistyped names")
struct SuggestionTests {
  static let names = Settings.table.map(\.name)

  @Test(arguments: [
    ("prot", "port"), ("hots", "host"), ("http.head-byte", "http.head-bytes"), ("http.headBytes", "http.head-bytes"),
    ("http.head_bytes", "http.head-bytes"), ("head-bytes", "http.head-bytes"), ("htpp.body-bytes", "http.body-bytes"),
    ("ping-interval", "websocket.ping-interval"), ("origin", "origins"),
    ("log.levle", "log.level"), ("value-bytes", "store.value-bytes"), ("LOOPS", "loops"),
  ])
  func `the nearest name is found`(typed: String, meant: String) {
    #expect(Suggestion.nearest(to: typed, among: Self.names) == meant)
  }

  @Test(arguments: ["", "zzzzzz", "colour.of", "x"])
  func `a name that is near to nothing gets no suggestion`(typed: String) {
    #expect(Suggestion.nearest(to: typed, among: Self.names) == nil)
  }

  @Test(arguments: [
    ("", "", 0), ("", "abc", 3), ("abc", "abc", 0), ("port", "prot", 1), ("port", "ports", 1), ("kitten", "sitting", 3),
    ("ca", "abc", 3),
  ])
  func `the distance counts insertions, deletions, replacements and swaps`(a: String, b: String, distance: Int) {
    #expect(Suggestion.editDistance(Array(a.utf8), Array(b.utf8)) == distance)
    #expect(Suggestion.editDistance(Array(b.utf8), Array(a.utf8)) == distance)
  }
}
