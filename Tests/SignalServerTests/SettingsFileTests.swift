// SPDX-License-Identifier: MIT
import Testing

@testable import signal_server

@Suite("Reading a settings file")
struct SettingsFileTests {
  private func read(_ text: String) throws(ConfigurationError) -> [SettingsFile.Entry] {
    try SettingsFile(path: "f.yaml", bytes: Array(text.utf8)).entries
  }

  private func refusal(_ text: String) -> String? {
    do {
      _ = try read(text)
      return nil
    } catch {
      return error.description
    }
  }

  @Test(arguments: ["", "\n\n", "# nothing\n", "   # nothing", "---\n", "\u{FEFF}# nothing\r\n", "---\n...\n", "~"])
  func `a file without keys is empty`(text: String) throws {
    #expect(try read(text).isEmpty)
  }

  @Test(arguments: [
    ("port: 1", "1"), ("port: 1\r\n", "1"), ("port:    1   ", "1"), ("port: 1 # comment", "1"), ("port: 1#2", "1#2"),
    ("port: \"1\"", "1"), ("port: '1'", "1"), ("port: '1' # comment", "1"), ("port : 1", "1"), ("\"port\": 1", "1"),
    ("port:\t1", "1"), ("---\nport: 1", "1"), ("port: 'it''s'", "it's"),
    ("port: \"a\\\"\\\\\\/\\n\\tb\"", "a\"\\/\n\tb"),
    ("port: http://a:8080/b", "http://a:8080/b"), ("port: -1", "-1"), ("port: a[b]{c}, d", "a[b]{c}, d"),
    ("port: ''", ""), ("port: \"null\"", "null"), ("port: ::1", "::1"), ("port: grün", "grün"), ("port: ?x", "?x"),
    ("port: \"\\x41\"", "A"),
    ("port: 'a: b'", "a: b"), ("{port: 1}", "1"), ("port:\n  1", "1"), ("\u{FEFF}port: 1", "1"), ("port: 1\n...", "1"),
  ])
  func `a scalar is read`(text: String, value: String) throws {
    let entries = try read(text)
    #expect(entries.map(\.name) == ["port"])
    #expect(entries.map(\.value) == [.scalar(value)])
  }

  @Test(arguments: ["port:", "port: ~", "port: null", "port: # comment", "port:\n\n# comment\n", "port:\nloops: 1"])
  func `a key without a value has nothing`(text: String) throws {
    #expect(try read(text).first == .init(name: "port", value: .nothing, line: 1))
  }

  @Test(arguments: [
    ("o: []", []), ("o: [a]", ["a"]), ("o: [a, b]", ["a", "b"]), ("o: [ 'a' , \"b\",c ] # x", ["a", "b", "c"]),
    ("o: [a, ]", ["a"]), ("o: [\"*\"]", ["*"]), ("o: [http://a:1, https://b]", ["http://a:1", "https://b"]),
    ("o:\n  - a\n  - b", ["a", "b"]), ("o:\n- a\n- 'b' # x\n", ["a", "b"]),
    ("o:\n\n  # x\n  - a\n\n  -   b", ["a", "b"]),
    ("o:\n  - a\np: 1", ["a"]), ("o:\n- a\np: 1", ["a"]), ("o: [\n  a,\n  b\n]", ["a", "b"]),
  ])
  func `a list is read in brackets and in lines`(text: String, items: [String]) throws {
    #expect(try read(text).first?.value == .list(items))
  }

  @Test func `groups are joined with dots and every key knows its line`() throws {
    let text = """
      # comment
      port: 1
      http:
        head-bytes: 2

        # comment
        fields: 3
      log:
          level: info
      empty:
      live:
        deep:
          deeper: 4
        back: 5
      origins:
        - a
      store.properties: 6
      """
    #expect(
      try read(text) == [
        .init(name: "port", value: .scalar("1"), line: 2),
        .init(name: "http.head-bytes", value: .scalar("2"), line: 4),
        .init(name: "http.fields", value: .scalar("3"), line: 7),
        .init(name: "log.level", value: .scalar("info"), line: 9),
        .init(name: "empty", value: .nothing, line: 10),
        .init(name: "live.deep.deeper", value: .scalar("4"), line: 13),
        .init(name: "live.back", value: .scalar("5"), line: 14),
        .init(name: "origins", value: .list(["a"]), line: 15),
        .init(name: "store.properties", value: .scalar("6"), line: 17),
      ])
  }

  @Test func `a list may hold groups, with a line for each value in them`() throws {
    let text = """
      listen:
        - url: http://a
          tls:
            certificates: [a.pem, b.pem]
        - {url: b}
      """
    let tls = SettingsFile.Entry(name: "tls.certificates", value: .list(["a.pem", "b.pem"]), line: 4)
    #expect(
      try read(text) == [
        .init(
          name: "listen",
          value: .groups([
            .init(entries: [.init(name: "url", value: .scalar("http://a"), line: 2), tls], line: 2),
            .init(entries: [.init(name: "url", value: .scalar("b"), line: 5)], line: 5),
          ]), line: 1)
      ])
  }

  @Test(arguments: [
    ("port", "expected 'key: value' (f.yaml:1)"),
    ("port 1", "expected 'key: value' (f.yaml:1)"),
    ("port #: 1", "expected 'key: value' (f.yaml:1)"),
    ("port:1", "expected 'key: value' (f.yaml:1)"),
    (": 1", "expected 'key: value' (f.yaml:1)"),
    ("'port' 1", "expected 'key: value' (f.yaml:1)"),
    ("\"\": 1", "expected 'key: value' (f.yaml:1)"),
    ("? [a]\n: 1", "expected 'key: value' (f.yaml:1)"),
    ("a: 1\n\tb: 2", "indentation is spaces, not tabs (f.yaml:2)"),
    ("a:\n\tb: 2", "indentation is spaces, not tabs (f.yaml:2)"),
    (" \t \n", "indentation is spaces, not tabs (f.yaml:1)"),
    ("a: 1\n  b: 2", "a value ends on the line that it begins on; is the next line indented too far? (f.yaml:1)"),
    ("a: 'b'\n  c: 2", "the indentation fits no group above (f.yaml:2)"),
    ("a:\n    b: 1\n  c: 2", "the indentation fits no group above (f.yaml:3)"),
    ("  a: 1\nb: 2", "the indentation fits no group above (f.yaml:2)"),
    ("- a", "a list item belongs to no key (f.yaml:1)"),
    ("a: 1\n- b", "a list item belongs to no key, or is indented differently from the one above (f.yaml:2)"),
    ("a:\n  - b\n - c", "a list item belongs to no key, or is indented differently from the one above (f.yaml:3)"),
    (
      "a:\n  - b\n    - c",
      "a value ends on the line that it begins on; is the next line indented too far? (f.yaml:2)"
    ),
    ("a:\n  - b\n  c: 1", "a list item or key is indented differently from the one above (f.yaml:3)"),
    ("a:\n  - b: 1\n  - c", "the items of a list are all values or all groups (f.yaml:3)"),
    ("a:\n  - ", "a list item is one value or one group (f.yaml:2)"),
    ("a:\n  - [b]", "a list item is one value or one group (f.yaml:2)"),
    ("a: [[b]]", "a list item is one value or one group (f.yaml:1)"),
    ("a: [b", "a list in brackets ends with ']' (f.yaml:1)"),
    ("a: [b,\n\nc: 1\n", "a list in brackets ends with ']' (f.yaml:1)"),
    ("a: {b: 1", "a group in braces ends with '}' (f.yaml:1)"),
    (
      "a: [b[c]]",
      "a value that contains brackets, or goes on behind its quotes, needs quotes around all of it (f.yaml:1)"
    ),
    ("a: [b:]", "a value with ': ' in it needs quotes (f.yaml:1)"),
    ("a: [,]", "a value is missing (f.yaml:1)"),
    ("a: [b] c", "nothing may follow the value (f.yaml:1)"),
    ("a: 'b' c", "nothing may follow the value (f.yaml:1)"),
    ("a: 'b", "a quoted value ends with the quote that it begins with (f.yaml:1)"),
    ("\na: \"b\\\"\nc: 1\n", "a quoted value ends with the quote that it begins with (f.yaml:2)"),
    ("a: \"\\q\"", "this escape is not supported (f.yaml:1)"),
    ("a: b: c", "a value with ': ' in it needs quotes (f.yaml:1)"),
    ("a: *", "a value or key that begins with '*' needs quotes (f.yaml:1)"),
    ("a: [*]", "a value or key that begins with '*' needs quotes (f.yaml:1)"),
    ("a: *b", "a value or key that begins with '*' needs quotes (f.yaml:1)"),
    ("a: 1\n<<: *b", "a value or key that begins with '*' needs quotes (f.yaml:2)"),
    ("a: &b 1", "a value or key that begins with '&' needs quotes (f.yaml:1)"),
    ("a: 1\nb: &c\n  d: 1", "a value or key that begins with '&' needs quotes (f.yaml:2)"),
    ("a: !!int 1", "a value or key that begins with '!' needs quotes (f.yaml:1)"),
    ("a: ! 1", "a value or key that begins with '!' needs quotes (f.yaml:1)"),
    ("!!map\na: 1", "a value or key that begins with '!' needs quotes (f.yaml:1)"),
    ("a: !!seq [b]", "a value or key that begins with '!' needs quotes (f.yaml:1)"),
    ("a: |\n  b", "a value ends on the line that it begins on; is the next line indented too far? (f.yaml:1)"),
    ("a: >-", "a value ends on the line that it begins on; is the next line indented too far? (f.yaml:1)"),
    ("a: 'b\n  c'", "a value ends on the line that it begins on; is the next line indented too far? (f.yaml:1)"),
    ("a: @b", "a value or key that begins with '@' needs quotes (f.yaml:1)"),
    ("a: }", "a value or key that begins with '}' needs quotes (f.yaml:1)"),
    ("a: - b", "a value or key that begins with '-' needs quotes (f.yaml:1)"),
    ("%YAML 1.2\n---\na: 1", "directives such as %YAML are not supported (f.yaml:1)"),
    ("%TAG ! x\n---\na: 1", "directives such as %YAML are not supported (f.yaml:1)"),
    ("a: 1\n---\nb: 2", "a settings file is one document (f.yaml:2)"),
    ("--- 1\n---\n", "a settings file is one document (f.yaml:2)"),
    ("http:\n  a: 1\nb: 2\nhttp:\n  c: 3", "http: is already set on line 1 (f.yaml:4)"),
    ("a: 1\n'a': 2", "a: is already set on line 1 (f.yaml:2)"),
    ("a:\n  - {b: 1, b: 2}", "b: is already set on line 2 (f.yaml:2)"),
    ("a: 1\nb: \u{7}", "control characters are not allowed (f.yaml:2)"),
  ])
  func `what is no settings file is refused with its line`(text: String, line: String) {
    #expect(refusal(text) == line)
  }

  @Test func `groups and lists are nested so deep and not deeper`() throws {
    let limit = YAMLNode.depthLimit
    func nested(_ depth: Int) -> String {
      String(repeating: "{a: ", count: depth) + "1" + String(repeating: "}", count: depth)
    }
    #expect(try read(nested(limit)).map(\.value) == [.scalar("1")])
    let refused = "groups and lists are nested more than 16 deep (f.yaml:1)"
    #expect(refusal(nested(limit + 1)) == refused)
    #expect(refusal("a: " + String(repeating: "[", count: 100_000)) == refused)
  }

  @Test func `a file is so large and not larger`() throws {
    let text = "a: 1 #"
    let filled = text + String(repeating: "x", count: SettingsFile.byteLimit - text.utf8.count)
    #expect(try read(filled).map(\.value) == [.scalar("1")])
    #expect(refusal(filled + "x") == "a settings file has at most 1MiB (f.yaml:1)")
  }

  @Test func `bytes that are not UTF-8 are refused`() {
    let bytes = Array("a: 1\nb: x".utf8) + [0xFF]
    #expect(throws: ConfigurationError.syntax("not UTF-8", .file("f.yaml", line: 2))) {
      try SettingsFile(path: "f.yaml", bytes: bytes)
    }
  }

  @Test func `no bytes make it trap`() {
    var generator = SplitMix(state: 0x5157)
    let alphabet = Array("ab:#-[]{},'\"\\ \t\n*&~\u{FEFF}é".utf8)
    for _ in 0..<20_000 {
      let bytes = (0..<Int(generator.next() % 24)).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
      _ = try? SettingsFile(path: "f.yaml", bytes: bytes)
    }
  }
}

/// A generator with a seed, so that a failure can be had again.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
