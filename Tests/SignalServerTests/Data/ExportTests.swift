// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Testing

@testable import signal_server

/// `export` and `import`, by the program.
@Suite("export and import")
struct ExportTests {
  @Test(arguments: [
    #"{"path":"a","value":{"b":[1,2.50]}}"#, #"{"path":"a","value":1,"ttl":"59300ms"}"#,
    #"{"path":"f","formula":"properties['a'] + 1"}"#, #"{"timer":"t","every":"5s","message":null}"#,
    #"{"timer":"t","at":"2026-01-02T03:04:05.678Z","message":"é\n"}"#, #"{"signal":"s","message":[]}"#,
  ])
  func `a line is read as it is written`(line: String) throws {
    guard case .item(let item) = try ExportedLine(Array(line.utf8)[...]) else {
      Issue.record("\(line) is no item")
      return
    }
    #expect(String(decoding: item.line, as: UTF8.self) == line)
  }

  @Test(arguments: [
    ("1", "no JSON object"), ("{", "ends inside"), ("{}", "it is no property"), (#"{"path":"a"}"#, "it is no property"),
    (#"{"path":"a","value":1,"ttl":5}"#, "it is no property"),
    (#"{"path":"a","value":1,"extra":2}"#, "members"), (#"{"path":"a","value":1,"message":2}"#, "members"),
    (#"{"path":"a","value":1,"formula":"1"}"#, "members"), (#"{"timer":"t","message":1}"#, "it is no property"),
    (#"{"timer":"t","every":"1s","at":"x","message":1}"#, "members"), (#"{"signal":"s"}"#, "it is no property"),
    (#"{"export":2}"#, "written by a later version"), (#"{"end":false}"#, "it is no end"),
    (#"{"end":true,"properties":-1}"#, "it is no end"), (#"{"end":true,"path":"a"}"#, "it is no end"),
  ])
  func `a line that is none is refused`(line: String, reason: String) throws {
    let fault = #expect(throws: ExportedLine.Fault.self) { try ExportedLine(Array(line.utf8)[...]) }
    #expect(fault?.message.contains(reason) == true, "\(String(describing: fault))")
  }

  @Test(arguments: [
    ("", "first line"), ("{\"export\":1}\n", "last line"),
    ("{\"path\":\"a\",\"value\":1}\n{\"end\":true}\n", "first line"),
    ("\n{\"export\":1}\n\n{\"end\":true,\"properties\":0}\n\n", nil),
    ("{\"export\":1}\n{\"path\":\"a\",\"value\":1}\n{\"end\":true,\"properties\":1,\"timers\":0,\"signals\":0}", nil),
  ])
  func `an export is known to be whole by its first and its last line`(text: String, missing: String?) throws {
    #expect(try ExportedItems(Array(text.utf8), "file").missing == missing)
  }

  @Test(arguments: [
    (#"{"end":true,"properties":2}"#, "line 3: it says that there are 2 properties, and there are 1"),
    (#"{"end":true,"timers":1}"#, "line 3: it says that there are 1 timers, and there are 0"),
    (#"{"end":true,"signals":1}"#, "line 3: it says that there are 1 kept messages, and there are 0"),
    ("{\"end\":true}\n{\"path\":\"b\",\"value\":1}", "line 4: it follows the end"),
    ("{\"end\":true}\n\n{\"end\":true}", "line 5: it follows the end"), (#"{"export":1}"#, "line 3: it is a header"),
  ])
  func `an end that does not fit is refused, and so is what follows it`(rest: String, reason: String) throws {
    let text = "{\"export\":1}\n{\"path\":\"a\",\"value\":1}\n" + rest
    let failure = #expect(throws: Failure.self) { try ExportedItems(Array(text.utf8), "file") }
    #expect(failure?.status == .damaged && failure?.message.contains(reason) == true, "\(String(describing: failure))")
  }

  @Test func `what has been imported is said by lines`() throws {
    let property = { (path: String) in ExportedItem.property(path: path, value: .null, ttl: nil) }
    let text = { (items: [ExportedItem], done: Int) in
      var progress = ImportProgress(items.enumerated().map { ($0.offset + 2, $0.element) })
      progress.advance(by: done)
      return progress.text(isCertain: true)
    }
    let (formula, timer) = (
      ExportedItem.computed(path: "f", formula: "1"),
      ExportedItem.timer(path: "t", kind: "every", time: "1h", message: .null)
    )
    let plain = [property("a"), property("b"), property("c")]
    #expect(text(plain, 0) == "nothing has been imported")
    #expect(text(plain, 2) == "the lines up to 3 have been imported")
    #expect(text(plain, 3) == "all lines have been imported")
    let mixed = [property("a"), formula, property("c"), formula, timer, property("d"), timer]
    let expected = [
      "nothing has been imported", "the lines up to 2 have been imported",
      "of the lines with values those up to 4 have been imported, and no others",
      "the lines with values have been imported, and no others",
      "the lines with values have been imported, and of those with formulas those up to 3",
      "the lines with values and formulas have been imported, and no others", "the lines up to 7 have been imported",
      "all lines have been imported",
    ]
    for (done, expected) in expected.enumerated() { #expect(text(mixed, done) == expected) }
    var progress = ImportProgress([(2, formula)])
    progress.deleted = 1
    #expect(progress.text(isCertain: false).hasPrefix("nothing is known to have been imported; 1 deleted; what became"))
  }

  private static let contents = [
    ("set", ["a/1", "1"]), ("set", ["a/2", #"{"x":"é"}"#]), ("set", ["short", "1", "--ttl", "1h"]),
    ("set", ["f", "--computed", "properties['a/1'] * 2"]), ("timer", ["t", "--every", "1h", "--message", "5"]),
    ("timer", ["once", "--after", "2h"]), ("send", ["bell", #""kept""#, "--remember"]),
  ]

  private func fill(_ server: RunningServer) throws {
    for (verb, arguments) in Self.contents {
      let run = try Program.run([verb] + arguments, ["SIGNAL_SERVER": server.url])
      #expect(run.status == 0, "\(verb) \(arguments): \(run)")
    }
    for first in 0..<3 {
      let list = (0..<400).map { #"{"op":"set","path":"many/\#(first)/\#($0)","value":\#($0)}"# }
      #expect(try server.run("transaction", "[\(list.joined(separator: ","))]").status == 0)
    }
  }

  /// The lines but for the first and the last, without what depends on the moment.
  private func lines(_ run: Program.Run) -> [Substring] {
    run.output.split(separator: "\n").dropFirst().dropLast().map { line in
      line.prefix { $0 != "t" || !line.contains("ttl") }
    }
  }

  @Test func `what a server holds goes to another one and to a folder, and comes back as it was`() throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let (one, two) = (try RunningServer(), try RunningServer())
    defer { for server in [one, two] { _ = server.stop() } }
    try fill(one)
    let exported = try one.run("export")
    #expect(exported.status == 0 && exported.output.hasPrefix(#"{"export":1,"cursor":"#), "\(exported.errors)")
    #expect(exported.output.contains(#"{"path":"f","formula":"properties['a/1'] * 2"}"#))
    #expect(exported.output.contains(#"{"signal":"bell","message":"kept"}"#))
    #expect(exported.output.contains(#"{"timer":"t","every":"1h","message":5}"#))
    #expect(exported.output.contains(#"{"timer":"once","at":"#) && exported.output.contains(#""ttl":""#))
    #expect(lines(exported).count == 1207)
    #expect(exported.output.hasSuffix("{\"end\":true,\"properties\":1204,\"timers\":2,\"signals\":1}\n"))

    // What is in the way, and what is not in the file.
    for (path, more) in [("stays", ["1"]), ("a/1", ["--computed", "1"]), ("f", ["7"])] {
      #expect(try Program.run(["set", path] + more, ["SIGNAL_SERVER": two.url]).status == 0)
    }
    #expect(try two.run("timer", "old", "--every", "1h").status == 0)
    let stopped = try two.run("import", "-", input: exported.output)
    #expect(stopped.status == 1 && stopped.errors.contains("standard input, line 2: "), "\(stopped)")
    #expect(stopped.errors.contains("; nothing has been imported"), "\(stopped)")
    let replaced = try two.run("import", "-", "--replace", input: exported.output)
    #expect(
      replaced.output == "imported 1204 properties, 2 timers and 1 kept message; deleted 3\n", "\(replaced)")
    #expect(try lines(two.run("export")) == lines(exported))

    let file = root + "/export"
    try Data(exported.output.utf8).write(to: URL(filePath: file))
    let folder = root + "/data"
    let imported = try Program.run(["import", file, "--data", folder])
    #expect(imported.status == 0 && imported.output.hasPrefix("imported 1204 properties"), "\(imported)")
    let again = try Program.run(["export", "--data", folder])
    #expect(again.status == 0 && lines(again) == lines(exported), "\(again.errors)")
    let served = try RunningServer(["--data-dir", folder])
    #expect(try served.run("get", "f").output == "2\n")
    for arguments in [["export", "--data", folder], ["import", file, "--data", folder]] {
      let busy = try Program.run(arguments)
      #expect(busy.status == 71 && busy.errors.contains("is in use by process"), "\(busy)")
    }
    _ = served.stop()
  }

  @Test func `nothing is deleted for an export that is cut off`() throws {
    let server = try RunningServer()
    defer { _ = server.stop() }
    for path in ["a", "b"] { #expect(try server.run("set", path, "1").status == 0) }
    let exported = try server.run("export").output
    let cut = exported.split(separator: "\n", omittingEmptySubsequences: false).dropLast(2).joined(separator: "\n")
    for input in ["", "\n", cut, "{\"path\":\"a\",\"value\":2}\n"] {
      let run = try server.run("import", "-", "--replace", input: input)
      #expect(run.status == 65 && run.errors.contains("nothing has been changed"), "\(input): \(run)")
    }
    #expect(try server.run("get", "a").output == "1\n" && server.run("get", "b").output == "1\n")
    // Without deleting, what is cut off is what it is.
    #expect(try server.run("import", "-", input: cut).output.hasPrefix("imported 2 properties"))
    let whole = try server.run("import", "-", "--replace", input: "{\"export\":1}\n{\"end\":true}\n")
    #expect(whole.output == "imported 0 properties, 0 timers and 0 kept messages; deleted 2\n", "\(whole)")
    #expect(try server.run("import", "-", "--replace", input: exported).status == 0)
    #expect(try server.run("get", "b").output == "1\n")
  }

  @Test func `a refusal says which lines have been imported`() throws {
    let server = try RunningServer()
    defer { _ = server.stop() }
    var lines = (0..<700).map { #"{"path":"p/\#($0)","value":1}"# }
    lines.append(#"{"path":"p//x","value":1}"#)
    let refused = try server.run("import", "-", input: lines.joined(separator: "\n"))
    #expect(
      refused.status == 1 && refused.errors.contains("standard input, line 701: ")
        && refused.errors.contains("; the lines up to 500 have been imported"), "\(refused)")
    #expect(try server.run("get", "p/499").output == "1\n" && server.run("get", "p/500").status == 1)
  }

  @Test func `a file with a line that is none changes nothing, and a refusal names the line`() throws {
    let server = try RunningServer()
    defer { _ = server.stop() }
    let broken = try server.run("import", "-", input: "{\"path\":\"a\",\"value\":1}\n\n{\"path\":1}\n")
    #expect(broken.status == 65 && broken.errors.contains("standard input, line 3: it is no property"), "\(broken)")
    #expect(try server.run("get", "a").status == 1)
    let refused = try server.run("import", "-", input: "{\"path\":\"a\",\"value\":1}\n{\"path\":\"b/\",\"value\":1}\n")
    #expect(refused.status == 1 && refused.errors.contains("line 2: "), "\(refused)")
    let timer = try server.run("import", "-", input: #"{"timer":"t","every":"1ms","message":1}"#)
    #expect(timer.status == 1 && timer.errors.contains("line 1: "), "\(timer)")
    for arguments in [
      ["import", "/nowhere"], ["export", "--data", "/nowhere/data"],
      ["import", "/dev/null", "--data", "/nowhere/data"],
    ] {
      let run = try Program.run(arguments)
      #expect(run.status == 71 && run.errors.contains("No such file"), "\(arguments): \(run)")
    }
    let both = try Program.run(["export", "--data", "/tmp", "--server", server.url])
    #expect(both.status == 64 && both.errors.contains("exclude each other"))
    let full = try Program(
      ["-c", "\"$0\" export > /dev/full", Program.executable.path], ["SIGNAL_SERVER": server.url],
      executable: "/bin/sh"
    ).end()
    #expect(full.status == 74 && full.errors.contains("No space left"), "\(full)")
  }
}
