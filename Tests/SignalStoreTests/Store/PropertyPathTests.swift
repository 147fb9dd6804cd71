// SPDX-License-Identifier: MIT

import SignalStore
import Testing

@Suite struct PropertyPathTests {
  static let limits = PathLimits()

  @Test(
    arguments: [
      "a", "kitchen/temperature", "a b/ü/日本", "...", "a./.b", "***", "a*", "*a", "**a/b", "%41", "a+b", "\"\\", "a?b#c",
      String(repeating: "x", count: 255), Array(repeating: "x", count: 32).joined(separator: "/"),
      Array(repeating: String(repeating: "x", count: 204), count: 5).joined(separator: "/"),
    ] as [String])
  func `plain text that keeps the rules is a path and reads back the same`(text: String) throws {
    let path = try PropertyPath(text)
    #expect(path.description == text)
    #expect(path.bytes == Array(text.utf8))
    #expect(try PropertyPath(bytes: Array(text.utf8).span) == path)
    #expect(path.segments.map { String(decoding: $0, as: UTF8.self) } == text.split(separator: "/").map(String.init))
  }

  @Test(
    arguments: [
      ("", PathError.empty),
      ("/", .emptySegment), ("/a", .emptySegment), ("a/", .emptySegment), ("a//b", .emptySegment),
      (".", .dotSegment), ("..", .dotSegment), ("a/./b", .dotSegment), ("a/..", .dotSegment), ("../a", .dotSegment),
      ("*", .wildcard), ("**", .wildcard), ("a/*", .wildcard), ("**/a", .wildcard), ("a/**/b", .wildcard),
      ("a\u{0}", .controlCharacter), ("a\n", .controlCharacter), ("\u{1F}", .controlCharacter),
      ("a\u{7F}b", .controlCharacter), ("a/\u{80}", .controlCharacter), ("\u{9F}", .controlCharacter),
      (String(repeating: "x", count: 256), .segmentTooLong(limit: 255)),
      ("a/" + String(repeating: "x", count: 256) + "/b", .segmentTooLong(limit: 255)),
      (Array(repeating: "x", count: 33).joined(separator: "/"), .tooDeep(limit: 32)),
      (
        Array(repeating: String(repeating: "x", count: 204), count: 5).joined(separator: "/") + "x",
        .tooLong(limit: 1024)
      ),
    ] as [(String, PathError)])
  func `plain text that breaks a rule is refused and the reason named`(text: String, reason: PathError) {
    #expect(throws: reason) { try PropertyPath(text) }
    #expect(throws: reason) { try PropertyPath(bytes: Array(text.utf8).span) }
    #expect(!reason.description.isEmpty)
  }

  @Test(arguments: [
    "\u{A0}", "\u{100}", "Â", "a\u{A0}/\u{C0}",
  ])
  func `characters next to the control characters are allowed`(text: String) throws {
    #expect(try PropertyPath(text).description == text)
  }

  @Test(
    arguments: [
      [0xFF], [0x61, 0xC3], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
      [0xC3, 0x2F, 0xA9], [0xA0],
    ] as [[UInt8]])
  func `bytes that are not UTF-8 are refused`(bytes: [UInt8]) {
    #expect(throws: PathError.invalidUTF8) { try PropertyPath(bytes: bytes.span) }
    let encoded = bytes.flatMap { Array("%".utf8) + Array(String($0, radix: 16, uppercase: true).utf8) }
    #expect(throws: PathError.invalidUTF8) { try PropertyPath(percentEncoded: encoded.span) }
  }

  @Test(
    arguments: [
      ("a/b", "a/b"), ("%61/%62", "a/b"), ("a%20b", "a b"), ("%C3%A9", "é"), ("%c3%a9", "é"), ("a+b", "a+b"),
      ("%25", "%"), ("%2525", "%25"), ("a%3Fb", "a?b"), ("%2A%2A%2A", "***"), ("é", "é"),
      ("a%2Fb", "a/b"), ("a%2fb/c", "a/b/c"), ("a%252Fb", "a%2Fb"), ("%C3%A9%2F%62", "é/b"),
    ] as [(String, String)])
  func `a percent-encoded path is decoded once`(text: String, plain: String) throws {
    #expect(try PropertyPath(percentEncoded: Array(text.utf8).span) == PropertyPath(plain))
  }

  @Test(
    arguments: [
      ("", PathError.empty),
      ("%2f", .emptySegment), ("%2Fa", .emptySegment), ("a%2F", .emptySegment), ("a/%2Fb", .emptySegment),
      ("a%2f%2Fb", .emptySegment), ("a%2F/b", .emptySegment), ("a%2F..%2Fb", .dotSegment), ("a%2F*", .wildcard),
      ("%", .malformedPercent), ("a%4", .malformedPercent), ("%4g", .malformedPercent), ("%G4", .malformedPercent),
      ("%%41", .malformedPercent), ("a%", .malformedPercent), ("% 41", .malformedPercent), ("%+4", .malformedPercent),
      ("%2E", .dotSegment), ("a/%2e%2E", .dotSegment), ("%2A", .wildcard), ("a/*%2A", .wildcard),
      ("%00", .controlCharacter), ("a%0Ab", .controlCharacter), ("%7F", .controlCharacter),
      ("%C2%85", .controlCharacter),
      ("a//b", .emptySegment), ("a/", .emptySegment),
      (String(repeating: "%41", count: 256), .segmentTooLong(limit: 255)),
      (String(repeating: "%41", count: 1025), .tooLong(limit: 1024)),
      (String(repeating: "a", count: 1025), .tooLong(limit: 1024)),
    ] as [(String, PathError)])
  func `a percent-encoded path that breaks a rule is refused and the reason named`(text: String, reason: PathError) {
    #expect(throws: reason) { try PropertyPath(percentEncoded: Array(text.utf8).span) }
  }

  @Test func `encoded separators count as segments`() {
    let deep = Array(repeating: "x", count: 33).joined(separator: "%2F")
    #expect(throws: PathError.tooDeep(limit: 32)) { try PropertyPath(percentEncoded: Array(deep.utf8).span) }
  }

  @Test func `limits can be set and name themselves`() throws {
    let limits = PathLimits(depth: 2, segmentBytes: 3, bytes: 5)
    #expect(try PropertyPath("a/bbb", limits: limits) == "a/bbb")
    #expect(throws: PathError.tooDeep(limit: 2)) { try PropertyPath("a/b/c", limits: limits) }
    #expect(throws: PathError.segmentTooLong(limit: 3)) { try PropertyPath("aaaa", limits: limits) }
    #expect(throws: PathError.tooLong(limit: 5)) { try PropertyPath("aaa/bb", limits: limits) }
    #expect(throws: PathError.tooLong(limit: 0)) { try PropertyPath("a", limits: PathLimits(bytes: 0)) }
    let unlimited = PathLimits(depth: .max, segmentBytes: .max, bytes: .max)
    #expect(try PropertyPath(percentEncoded: Array("a%20b".utf8).span, limits: unlimited) == "a b")
  }

  @Test func `a text of megabytes is refused without a look at it`() {
    let long = Array(String(repeating: "%41", count: 2_000_000).utf8)
    #expect(throws: PathError.tooLong(limit: 1024)) { try PropertyPath(percentEncoded: long.span) }
    #expect(throws: PathError.tooLong(limit: 1024)) { try PropertyPath(bytes: long.span) }
    #expect(throws: PathError.tooLong(limit: 1024)) { try PathPattern(bytes: long.span) }
  }

  @Test func `no bytes make the parsers trap`() {
    var generator = StoreGenerator(seed: 7)
    var accepted = 0
    for _ in 0..<20_000 {
      let alphabet: [UInt8] = Array("a/.*%2FfEe".utf8) + [0xC2, 0x80, 0xA9, 0xE2, 0xF0, 0x00, 0x7F]
      let bytes = (0..<generator.number(below: 9)).map { _ in alphabet[generator.number(below: alphabet.count)] }
      for path in [try? PropertyPath(bytes: bytes.span), try? PropertyPath(percentEncoded: bytes.span)] {
        guard let path else { continue }
        accepted += 1
        // What was accepted is a path by every way in.
        #expect((try? PropertyPath(path.description)) == path)
      }
      _ = try? PathPattern(bytes: bytes.span)
    }
    #expect(accepted > 1000)
  }

  @Test func `canonically equivalent texts are different paths`() {
    let composed: PropertyPath = "caf\u{E9}"
    let decomposed: PropertyPath = "cafe\u{301}"
    #expect(composed.description == decomposed.description)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
  }

  @Test func `a path comes before what is beneath it, and that before its neighbours`() {
    let ordered: [PropertyPath] = [
      "a", "a/b", "a/b/c", "a/b-c", "a/c", "a b", "a!", "a-b", "a-b/c", "a.b", "a0", "aa", "b", "é",
    ]
    for (index, path) in ordered.enumerated() {
      for (other, next) in ordered.enumerated() {
        #expect((path < next) == (index < other), "\(path) \(next)")
        #expect((path == next) == (index == other))
      }
    }
  }

  @Test func `the order is that of the segments`() {
    var generator = StoreGenerator(seed: 11)
    for _ in 0..<5000 {
      let a = generator.path()
      let b = generator.path()
      let expected = a.segments.lexicographicallyPrecedes(b.segments) { $0.lexicographicallyPrecedes($1) }
      #expect((a < b) == expected, "\(a) \(b)")
    }
  }

  @Test func `a literal that is no path stops the program`() async {
    await #expect(processExitsWith: .failure) {
      _ = "a//b" as PropertyPath
    }
  }
}
