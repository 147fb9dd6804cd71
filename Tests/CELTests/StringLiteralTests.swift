// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "String and Bytes Values".
@Suite struct StringLiteralTests {
  @Test(arguments: [
    (#""""#, ""),
    ("''", ""),
    (#"'""'"#, #""""#),
    ("'''x''x'''", "x''x"),
    (#""""x"y""""#, #"x"y"#),
    (#""\"""#, #"""#),
    (#""\\""#, #"\"#),
    (#"r"\\""#, #"\\"#),
    (#"R'\n'"#, #"\n"#),
    (#"'\a\b\f\n\r\t\v'"#, "\u{07}\u{08}\u{0C}\n\r\t\u{0B}"),
    (#"'\\\?\"\'\`'"#, #"\?"'`"#),
    (#"'\x41\X42\xFF'"#, "ABÿ"),
    (#"'\101\000\377'"#, "A\u{00}ÿ"),
    (#""\303\277""#, "Ã¿"),
    (#"'\u00e9\u20AC'"#, "é€"),
    (#"'\U0001F600'"#, "😀"),
    (#"'\ud83d\ude00'"#, "😀"),
    ("'πέντε'", "πέντε"),
    ("'''a\nb\r\nc'''", "a\nb\r\nc"),
    ("r'''a\\\n'''", "a\\\n"),
    ("'\t'", "\t"),
    ("'\u{01}'", "\u{01}"),
    ("\"\"\"\"\"\"", ""),
    ("'// no comment'", "// no comment"),
  ])
  func `a string literal is its text`(_ source: String, _ text: String) {
    expect(source, is: .string(text))
  }

  @Test(arguments: [
    (#"b"abc""#, [97, 98, 99] as [UInt8]),
    (#"b"ÿ""#, [195, 191]),
    (#"b"\303\277""#, [195, 191]),
    (#"b"\377""#, [255]),
    (#"b"\xFF""#, [255]),
    ("B''", []),
    (#"br'\xFF'"#, Array(#"\xFF"#.utf8)),
    (#"rb'\n'"#, Array(#"\n"#.utf8)),
    ("b'''a\nb'''", Array("a\nb".utf8)),
  ])
  func `a bytes literal is its bytes`(_ source: String, _ bytes: [UInt8]) {
    expect(source, is: .bytes(bytes))
  }

  @Test(arguments: [
    #"'\z'"#, #"'\8'"#, #"'\400'"#, #"'\18'"#, #"'\x4'"#, #"'\xg0'"#, #"'\u12'"#, #"'\U0001F60'"#,
    #"'\ud800'"#, #"'\udc00'"#, #"'\ud800\u0041'"#, #"'\U00110000'"#, #"'\UFFFFFFFF'"#, #"b'\u00ff'"#,
    #"b'\U000000ff'"#, #"'\ '"#,
  ])
  func `an escape that means nothing is refused at its backslash`(_ source: String) {
    let position = source.utf8.prefix { $0 != UInt8(ascii: "\\") }.count
    expect(source, isRefusedFor: .badEscape, at: position)
  }

  @Test func `texts are compared by code points, never normalized`() {
    expect(#"'\u00e9' == 'e\u0301'"#, is: .bool(false))
    expect(#"size('e\u0301')"#, is: .int(2))
    expect("size('😀')", is: .int(1))
  }
}
