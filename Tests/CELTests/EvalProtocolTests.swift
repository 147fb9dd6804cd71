// SPDX-License-Identifier: MIT

import Foundation
import Processes
import Testing
import cel_eval

/// The program that suites are scored through: a line in, a line out.
@Suite struct EvalProtocolTests {
  private func answer(_ line: String, _ options: CELEval.Options = CELEval.Options()) -> String {
    String(decoding: CELEval.answer(to: line, options), as: UTF8.self)
  }

  @Test(arguments: [
    ("null", #"{"type":"null","value":null}"#), ("true", #"{"type":"bool","value":true}"#),
    ("-9223372036854775808", #"{"type":"int","value":"-9223372036854775808"}"#),
    ("18446744073709551615u", #"{"type":"uint","value":"18446744073709551615"}"#),
    ("1.5", #"{"type":"double","value":1.5}"#), ("-0.0", #"{"type":"double","value":-0.0}"#),
    ("0.0/0.0", #"{"type":"double","value":"NaN"}"#), ("1.0/0.0", #"{"type":"double","value":"Infinity"}"#),
    ("-1.0/0.0", #"{"type":"double","value":"-Infinity"}"#), (#"'a\\\"b'"#, #"{"type":"string","value":"a\"b"}"#),
    ("b'hello'", #"{"type":"bytes","value":"aGVsbG8="}"#),
    (
      "[1, 'a']",
      #"{"type":"list","value":[{"type":"int","value":"1"},{"type":"string","value":"a"}]}"#
    ),
    (
      "{'a': 1, 2: null}",
      #"{"type":"map","value":[[{"type":"string","value":"a"},{"type":"int","value":"1"}],"#
        + #"[{"type":"int","value":"2"},{"type":"null","value":null}]]}"#
    ),
    ("[]", #"{"type":"list","value":[]}"#), ("{}", #"{"type":"map","value":[]}"#),
    ("timestamp('2009-02-13T23:31:30.5+02:00')", #"{"type":"timestamp","value":"2009-02-13T21:31:30.5Z"}"#),
    ("duration('-1500ms')", #"{"type":"duration","value":"-1.5s"}"#), ("type(1)", #"{"type":"type","value":"int"}"#),
    ("optional.none()", #"{"type":"optional","value":null}"#),
    ("optional.of(1u)", #"{"type":"optional","value":{"type":"uint","value":"1"}}"#),
  ])
  func `a value is written with its type, and read back as the same`(_ source: String, _ value: String) {
    #expect(answer(#"{"id":1,"expr":"\#(source)"}"#) == #"{"id":1,"value":\#(value)}"#)
    #expect(answer(#"{"id":1,"bindings":{"x":\#(value)},"expr":"x"}"#) == #"{"id":1,"value":\#(value)}"#)
  }

  @Test(arguments: ["7", #""a\n""#, "null", #"{"n":[1.50]}"#])
  func `the id comes back as it was written`(_ id: String) {
    #expect(answer(#"{"expr":"true","id":\#(id)}"#) == #"{"id":\#(id),"value":{"type":"bool","value":true}}"#)
  }

  @Test(arguments: [
    // Names with dots, and the container around them.
    (#""bindings":{"a.b":{"type":"int","value":"1"}},"expr":"a.b""#, "1"),
    (
      #""bindings":{"a.b":{"type":"int","value":"1"},"a":{"type":"map","value":[]}},"expr":"a.b""#, "1"
    ),
    (
      #""bindings":{"a.b":{"type":"map","value":[[{"type":"string","value":"c"},{"type":"int","value":"3"}]]}},"#
        + #""expr":"a.b.c""#, "3"
    ),
    (
      #""container":"a.b","bindings":{"a.b.x":{"type":"int","value":"1"},"a.x":{"type":"int","value":"2"},"#
        + #""x":{"type":"int","value":"3"}},"expr":"x * 100 + .x * 10 + .a.x""#, "132"
    ),
    (#""container":"a.b","bindings":{"a.x":{"type":"int","value":2}},"expr":"x""#, "2"),
    // A variable of a macro comes before one that is bound.
    (#""bindings":{"x":{"type":"int","value":9}},"expr":"[1].map(x, x)[0] + x""#, "10"),
  ])
  func `names are looked up in bindings and container`(_ request: String, _ value: String) {
    #expect(answer(#"{"id":1,\#(request)}"#) == #"{"id":1,"value":{"type":"int","value":"\#(value)"}}"#)
  }

  @Test(arguments: [
    (#""expr":"1 + 0.5""#, false, #"{"id":1,"value":{"type":"double","value":1.5}}"#),
    (#""expr":"1 + 0.5""#, true, nil), (#""expr":"1 + 0.5","strict":true"#, false, nil),
    (#""expr":"[1].all(x, true)","disable_macros":true"#, false, nil),
    (#""expr":"1 + true""#, false, nil),
    (
      #""expr":"1 + true == 2 || true","disable_check":true"#, false, #"{"id":1,"value":{"type":"bool","value":true}}"#
    ),
    // Without the checker also names are looked up when they are evaluated.
    (#""expr":"a.while() || true","disable_check":true"#, false, #"{"id":1,"value":{"type":"bool","value":true}}"#),
    (#""expr":"x == 1 || true","disable_check":true"#, false, #"{"id":1,"value":{"type":"bool","value":true}}"#),
    (#""expr":"x","disable_check":true"#, false, nil), (#""expr":"x""#, false, nil),
    (#""expr":"x","declarations":{"x":"int"}"#, false, nil),
    (
      #""expr":"[x]","declarations":{"x":"map(string, int)"},"check_only":true"#, false,
      #"{"id":1,"type":"list(map(string, int))"}"#
    ),
    (#""expr":"x.a","declarations":{"x":"int"}"#, false, nil), (#""expr":"1 / 0""#, false, nil),
    (#""expr":"1 +""#, false, nil),
  ])
  func `a request says how it is to be evaluated`(_ request: String, _ isStrict: Bool, _ expected: String?) {
    var options = CELEval.Options()
    options.isStrict = isStrict
    let answer = answer(#"{"id":1,\#(request)}"#, options)
    if let expected {
      #expect(answer == expected)
    } else {
      #expect(answer.hasPrefix(#"{"id":1,"error":""#), "\(answer)")
    }
  }

  @Test(arguments: [
    "", "nonsense", "[]", "{}", #"{"expr":1}"#, #"{"expr":"1","bindings":[]}"#, #"{"expr":"1","bindings":{"x":1}}"#,
    #"{"expr":"1","bindings":{"x":{"type":"int","value":"1.5"}}}"#,
    #"{"expr":"1","bindings":{"x":{"type":"list","value":{}}}}"#,
    #"{"expr":"1","bindings":{"x":{"type":"map","value":[[]]}}}"#, #"{"expr":"1","bindings":{"x":{"type":"no"}}}"#,
    #"{"expr":"1","declarations":{"x":"list("}}"#, #"{"expr":"1","container":1}"#, #"{"expr":"1","strict":1}"#,
  ])
  func `a line that is no request is answered with an error`(_ line: String) {
    #expect(answer(line).hasPrefix(#"{"id":null,"error":""#))
  }

  @Test func `options are two flags`() {
    #expect(CELEval.Options(arguments: ["--strict"])?.isStrict == true)
    #expect(CELEval.Options(arguments: ["--no-check"])?.isUnchecked == true)
    #expect(CELEval.Options(arguments: ["--stricter"]) == nil)
  }

  @Test func `the program answers each line before the next is sent`() throws {
    var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    // Some runners are started inside a bundle.
    while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "cel-eval").path) {
      folder.deleteLastPathComponent()
    }
    let (input, output) = (Pipe(), Pipe())
    let process = try ChildProcess(
      folder.appending(path: "cel-eval").path, ["--strict"], input: .pipe(input), output: .pipe(output))
    for number in 1...3 {
      input.fileHandleForWriting.write(Data(#"{"id":\#(number),"expr":"\#(number) * 2"}"#.utf8 + [10, 10]))
      var line: [UInt8] = []
      while let byte = output.fileHandleForReading.readData(ofLength: 1).first, byte != 10 { line.append(byte) }
      #expect(
        String(decoding: line, as: UTF8.self)
          == #"{"id":\#(number),"value":{"type":"int","value":"\#(number * 2)"}}"#)
    }
    input.fileHandleForWriting.write(Data(#"{"id":4,"expr":"1 + 1.0"}"#.utf8))
    try input.fileHandleForWriting.close()
    let rest = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(rest.hasPrefix(#"{"id":4,"error":""#) && rest.hasSuffix("}\n"))
    #expect(process.terminationStatus == 0)
  }
}
