// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Testing

@testable import signal_server

@Suite("list, delete and transaction as processes")
struct ListTests {
  private func fill(_ server: RunningServer, _ paths: [String]) throws {
    let operations = paths.enumerated().map { #"{"op":"set","path":"\#($1)","value":\#($0)}"# }
    let run = try server.run("transaction", "-", input: "[\(operations.joined(separator: ","))]")
    #expect(run.status == 0, "\(run)")
  }

  @Test func `list prints a line for each property, a tree, or objects`() throws {
    let server = try RunningServer()
    try fill(server, ["kitchen/light", "kitchen/temperature", "attic/a/b", "kitchen"])
    #expect(
      try server.run("list")
        == .init(
          status: 0, output: "attic/a/b\t2\nkitchen\t3\nkitchen/light\t0\nkitchen/temperature\t1\n", errors: ""))
    #expect(
      try server.run("ls", "--tree").output
        == "attic\n  a\n    b          2\nkitchen        3\n  light        0\n  temperature  1\n")
    #expect(try server.run("list", "kitchen/*", "--where", "value > 0").output == "kitchen/temperature\t1\n")
    #expect(try server.run("list", "attic/**", "kitchen", "--limit", "1").output == "attic/a/b\t2\n")
    let json = try server.run("list", "kitchen", "--json").output
    #expect(json.hasPrefix(#"{"path":"kitchen","value":3,"revision":1,"time":""#) && json.hasSuffix("\"}\n"))
    #expect(try server.run("list", "nothing/**") == .init(status: 0, output: "", errors: ""))
    let refused = try server.run("list", "--where", "valeu > 1")
    #expect(refused.status == 1 && refused.errors.contains("did you mean 'value'?"), "\(refused)")
    #expect(refused.errors.filter { $0 == "\n" }.count == 1)
    #expect(server.stop().status == 0)
  }

  @Test(arguments: [[], ["--store-list-limit", "7", "--store-list-default", "7"]])
  func `list goes over all pages, whatever a server allows`(settings: [String]) throws {
    let server = try RunningServer(settings)
    let names = (0..<50).map { "p/\($0 + 100)" }
    try fill(server, names)
    let all = names.enumerated().map { "\($1)\t\($0)\n" }
    #expect(try server.run("list", "p/*").output == all.joined())
    #expect(try server.run("list", "p/*", "--limit", "20").output == all.prefix(20).joined())
    #expect(server.stop().status == 0)
  }

  @Test(arguments: [
    [], ["--store-transaction-operations", "8", "--store-list-limit", "20", "--store-list-default", "20"],
  ])
  func `delete with a pattern deletes what matches, reports it, and nothing else`(settings: [String]) throws {
    let server = try RunningServer(settings)
    for number in 0..<25 { #expect(try server.run("set", "a/\(number)", "\(number)").status == 0) }
    #expect(try server.run("set", "b", "1").status == 0)
    let tried = try server.run("rm", "a/*", "--dry-run", "--where", "value < 10")
    #expect(tried.status == 0 && tried.errors == "signal-server: would delete 10 properties\n")
    #expect(tried.output.split(separator: "\n").count == 10 && tried.output.hasPrefix("a/0\n"))
    #expect(try server.run("list").output.split(separator: "\n").count == 26)
    let some = try server.run("rm", "a/*", "--where", "value < 3")
    #expect(some.status == 0 && some.output.hasPrefix("deleted 3 properties, as of ") && some.errors.isEmpty)
    let all = try server.run("delete", "a/**")
    #expect(all.status == 0 && all.errors.isEmpty)
    let reported = all.output.matches(of: /deleted ([0-9]+) properties, as of .+\n/).compactMap { Int($0.1) }
    #expect(reported.reduce(0, +) == 22 && (reported.count == 1) == settings.isEmpty, "\(all.output)")
    if reported.count > 1 { #expect(all.output.hasSuffix("\ndeleted 22 properties\n")) }
    #expect(try server.run("list").output == "b\t1\n")
    #expect(try server.run("delete", "a/**") == .init(status: 0, output: "deleted 0 properties\n", errors: ""))
    #expect(try server.run("delete", "a/**", "--if", "value == 1").status == 64)
    #expect(server.stop().status == 0)
  }

  @Test func `what has changed since it was listed is left, and told`() throws {
    let server = try RunningServer(["--store-transaction-operations", "1"])
    #expect(try server.run("set", "a/1", "1").status == 0)
    #expect(try server.run("set", "a/2", "properties['a/1'] + 1", "--computed").status == 0)
    // The first deletion changes what the second was listed with.
    let run = try server.run("rm", "a/*", "--where", "value > 0")
    #expect(run.status == 0 && run.output.hasPrefix("deleted 1 property, as of "), "\(run)")
    #expect(run.errors == "signal-server: left, because changed meanwhile: 1 property\n")
    #expect(try server.run("list").output == "a/2\tnull\n")
    #expect(server.stop().status == 0)
  }

  @Test func `set, patch and delete take a condition`() throws {
    let server = try RunningServer()
    #expect(try server.run("set", "a", "1", "--if", "value == null").status == 0)
    let refused = try server.run("set", "a", "2", "--if", "value == null")
    #expect(
      refused
        == .init(
          status: 1, output: "", errors: "signal-server: a: The condition does not hold for the present value.\n"))
    #expect(try server.run("patch", "a", "{}", "--if", "value == 2").status == 1)
    #expect(try server.run("delete", "a", "--if", "value == 2").status == 1)
    #expect(try server.run("get", "a").output == "1\n")
    #expect(try server.run("patch", "a", #"{"x":1}"#, "--if", "value == 1").status == 0)
    #expect(try server.run("delete", "a", "--if", "value.x == 1").status == 0)
    let held = try server.run("set", "h", "1", "--hold", "--if", "value != null")
    #expect(held.status == 1 && held.output.isEmpty)
    #expect(server.stop().status == 0)
  }

  @Test func `a transaction is all or nothing, in either form`() throws {
    let server = try RunningServer()
    let first = try server.run("transaction", #"door="open""#, "light/level=-80", "n=null")
    #expect(first.status == 0 && first.output.hasSuffix(".1\n") && first.errors.isEmpty, "\(first)")
    #expect(try server.run("list").output == "door\t\"open\"\nlight/level\t-80\nn\tnull\n")
    #expect(try server.run("transaction", "door=a=b", "--string", "--delete", "n").output.hasSuffix(".2\n"))
    #expect(try server.run("get", "door").output == "\"a=b\"\n")
    let operations = #"[{"op":"set","path":"x","value":1},{"op":"delete","path":"door","if":"value == 'shut'"}]"#
    for arguments in [
      ["transaction", operations], ["transaction", "-"], ["transaction", #"{"operations":\#(operations)}"#],
    ] {
      let refused = try Program.run(arguments, ["SIGNAL_SERVER": server.url], input: operations)
      #expect(refused.status == 1 && refused.output.isEmpty)
      // The path of the operation that failed is named.
      #expect(
        refused.errors.hasPrefix("signal-server: door: ") && refused.errors.filter { $0 == "\n" }.count == 1,
        "\(refused)")
    }
    #expect(try server.run("get", "x").status == 1)
    for arguments in [["a"], ["=1"], ["a=on"], [], ["[]", "--delete", "a"], ["["]] {
      let wrong = try Program.run(["transaction"] + arguments, ["SIGNAL_SERVER": server.url])
      #expect(wrong.status == 64 && wrong.errors.filter { $0 == "\n" }.count == 1, "\(arguments): \(wrong)")
    }
    #expect(server.stop().status == 0)
  }

  @Test func `a refusal is said once, names the path and what there is`() throws {
    let server = try RunningServer()
    try fill(server, ["kitchen/temperature", "kitchen/light/level", "attic/humidity"])
    for (arguments, line) in [
      (
        ["get", "kitchen/temperatur"],
        #"There is no property at "kitchen/temperatur"; did you mean kitchen/temperature?"#
      ),
      (
        ["delete", "kichen/temperature"],
        #"There is no property at "kichen/temperature"; did you mean kitchen/temperature?"#
      ),
      (["get", "humidity"], #"There is no property at "humidity"; did you mean attic/humidity?"#),
      (
        ["get", "kitchen/light"],
        #"There is no property at "kitchen/light"; there are properties below it: list 'kitchen/light/**'"#
      ),
      (["get", "zzz"], #"There is no property at "zzz"."#),
      (
        ["patch", "attic/humidty", "[]", "--operations"],
        #"There is no property at "attic/humidty"; did you mean attic/humidity?"#
      ),
      (["get", "kitchen/temperature", "--pointer", "/x"], nil), (["set", "a//b", "1"], nil),
    ] as [([String], String?)] {
      let run = try Program.run(arguments, ["SIGNAL_SERVER": server.url])
      #expect(run.status == 1 && run.output.isEmpty)
      #expect(run.errors.contains(arguments[1]) && run.errors.filter { $0 == "\n" }.count == 1, "\(run.errors)")
      if let line { #expect(run.errors == "signal-server: \(line)\n") }
    }
    #expect(server.stop().status == 0)
  }

  @Test func `a formula that may divide integers is set, and warned of`() throws {
    let server = try RunningServer()
    let warned = try server.run("set", "mean", "(properties['a'] + properties['b']) / 2", "--computed")
    #expect(warned.status == 0 && warned.output.hasSuffix(".1\n"))
    #expect(warned.errors.hasPrefix("signal-server: warning: 1:37: two integers are divided"), "\(warned)")
    #expect(try server.run("set", "mean", "properties['a'] / 2.0", "--computed").errors.isEmpty)
    let explained = try server.run("explain", "value / 2 > 1")
    #expect(
      explained.output.contains("\nwarning: 1:7: two integers are divided") && explained.errors.isEmpty, "\(explained)")
    #expect(!explained.output.contains("warnings:"))
    #expect(server.stop().status == 0)
  }
}

@Suite("What is near a path")
struct PathSuggestionTests {
  @Test func `it is looked for beside, below and elsewhere`() {
    #expect(PathSuggestion("a/b/c").patterns == ["*/b/c", "a/*/c", "a/b/*", "a/b/c/**", "**/c"])
    let deep = (0..<32).map(String.init).joined(separator: "/")
    #expect(PathSuggestion(deep).patterns.count == 32)
  }

  @Test(arguments: [
    ("abc/def", ["abc/xyz", "abc/deg"], "did you mean abc/deg?"),
    ("abc", ["abc/d"], "there are properties below it: list 'abc/**'"),
    ("abc", ["abd", "abc/d"], "did you mean abd?"), ("x", ["long/way/x"], "did you mean long/way/x?"),
    ("abc/def", ["zzz/yyy"], nil), ("abc", [], nil),
  ])
  func `the nearest is told, else what is below, else its name elsewhere`(path: String, there: [String], hint: String?)
  {
    #expect(PathSuggestion(path).hint(among: there) == hint)
  }
}
