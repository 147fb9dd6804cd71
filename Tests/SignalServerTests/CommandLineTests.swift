// SPDX-License-Identifier: MIT
import Foundation
import Processes
import Testing

@Suite("The command line as a process")
struct CommandLineTests {
  @Test(.enabled(if: Shell.succeeds("unshare", ["-rm", "true"])))
  func `where the arguments cannot be read nothing is started`() throws {
    let script = #"mount -t tmpfs none /proc && exec "$0" serve --port 0"#
    let run = try Program(["-rm", "sh", "-c", script, Program.executable.path], executable: "/usr/bin/unshare").end()
    #expect(
      run
        == Program.Run(
          status: 71, output: "", errors: "signal-server: the arguments cannot be read: /proc is not mounted\n"))
  }

  @Test func `the client verbs do what they say`() throws {
    let server = try RunningServer()
    let set = try server.run("set", "kitchen/temperature", "21.50")
    #expect(set.status == 0 && set.errors.isEmpty)
    #expect(set.output.hasSuffix(".1\n"))
    #expect(try server.run("get", "kitchen/temperature") == .init(status: 0, output: "21.50\n", errors: ""))
    #expect(try server.run("set", "kitchen/temperature", "-5").status == 0)
    #expect(try server.run("get", "kitchen/temperature").output == "-5\n")
    // Options take what begins with a minus and a digit, too.
    for arguments in [
      ["list", "--where", "-6 < value"], ["wait", "kitchen/temperature", "--until", "-6 < value"],
      ["set", "kitchen/temperature", "-5", "--if", "-6 < value"],
      ["delete", "**", "--where", "-6 < value", "--dry-run"],
    ] {
      let run = try Program.run(arguments, ["SIGNAL_SERVER": server.url])
      #expect(run.status == 0, "\(arguments): \(run)")
    }
    let timer = try server.run("timer", "later", "--after", "1h", "--message", "-5")
    #expect(timer.status == 0 && timer.output.contains(#""message":-5,"#), "\(timer)")
    let cursor = set.output.dropLast()
    func at(_ arguments: [String]) throws -> Program.Run { try Program.run(arguments, ["SIGNAL_SERVER": server.url]) }
    for state in [["--at", "\(cursor)"], ["--fresh"], ["--fresh", "--at", "\(cursor)"]] {
      #expect(try at(["get", "kitchen/temperature"] + state).output == "-5\n")
      #expect(try at(["list"] + state).output == "kitchen/temperature\t-5\n")
    }
    for verb in [["get", "kitchen/temperature"], ["list"]] {
      let refused = try at(verb + ["--at", "\(cursor)0"])
      #expect(refused.status == 1 && refused.output.isEmpty && refused.errors.contains("has not got to the cursor"))
    }
    #expect(try server.run("set", "a b/ü", "-", input: "{\"x\": [1, 2]}\n").status == 0)
    #expect(try server.run("get", "a b/ü", "--pointer", "/x/1").output == "2\n")
    #expect(try server.run("set", "note", "-", "--string", input: "on\n").status == 0)
    #expect(try server.run("get", "note").output == "\"on\"\n")
    #expect(try server.run("delete", "note") == .init(status: 0, output: "", errors: ""))
    #expect(try server.run("get", "note").status == 1)
    #expect(try server.run("health") == .init(status: 0, output: "ready\n", errors: ""))
    #expect(server.stop().status == 0)
  }

  @Test func `a server that is alone is no node of a cluster`() throws {
    let server = try RunningServer()
    for verb in ["status", "step-down"] {
      let refused = try server.run("cluster", verb)
      #expect(refused.status == 1 && refused.output.isEmpty)
      #expect(refused.errors == "signal-server: the server is not a node of a cluster\n")
    }
    #expect(try Program.run(["cluster", "status", "--server", "http://127.255.255.254:1"]).status == 69)
    #expect(server.stop().status == 0)
  }

  @Test func `whoever has read that the server listens can stop it at once`() throws {
    for _ in 0..<20 {
      #expect(try RunningServer().stop() == .init(status: 0, output: "", errors: ""))
    }
  }

  @Test func `conditions are kept and refusals are one line`() throws {
    let server = try RunningServer()
    let first = try server.run("set", "a", "1", "--if-absent")
    #expect(first.status == 0)
    let refused = try server.run("set", "a", "2", "--if-absent")
    #expect(refused.status == 1 && refused.output.isEmpty)
    #expect(refused.errors.hasPrefix("signal-server: ") && refused.errors.filter { $0 == "\n" }.count == 1)
    let cursor = first.output.trimmingCharacters(in: .newlines)
    let second = try server.run("set", "a", "2", "--if-match", cursor)
    #expect(second.status == 0)
    #expect(try server.run("set", "a", "3", "--if-match", cursor).status == 1)
    #expect(try server.run("delete", "a", "--if-match", cursor).status == 1)
    // The cursor of a set that changed nothing is still the one of the property.
    #expect(try server.run("set", "b", "1").status == 0)
    #expect(try server.run("set", "a", "2").output == second.output)
    #expect(try server.run("set", "a", "2", "--always").output != second.output)
    #expect(server.stop().status == 0)
  }

  @Test func `wait ends with what was waited for, or with its time`() throws {
    let server = try RunningServer()
    let change = try Program(["wait", "a"], ["SIGNAL_SERVER": server.url])
    let condition = try Program(["wait", "a", "--until", "value > 1"], ["SIGNAL_SERVER": server.url])
    // Whenever they begin to wait: the condition holds from then on, and a change comes again and again.
    var number = 2
    while change.process.isRunning {
      #expect(try server.run("set", "a", "\(number)").status == 0)
      number += 1
    }
    let seen = change.end()
    #expect(seen.status == 0 && (Int(seen.output.trimmingCharacters(in: .newlines)) ?? 0) >= 2)
    #expect(condition.end().status == 0)
    #expect(
      try server.run("wait", "a", "--until", "value < 0", "--timeout", "50ms")
        == .init(status: 75, output: "", errors: "signal-server: the time is up\n"))
    #expect(try server.run("wait", "none", "--until", "value == null") == .init(status: 0, output: "", errors: ""))
    #expect(try server.run("wait", "a", "--until", "value >").status == 1)
    #expect(try server.run("wait", "a", "--timeout", "soon").status == 64)
    #expect(server.stop().status == 0)
  }

  @Test func `patch changes a part, of either kind`() throws {
    let server = try RunningServer()
    let made = try server.run("patch", "light", #"{"on":true,"level":80.0}"#)
    #expect(made.status == 0 && made.output.hasSuffix(".1\n"))
    let cursor = made.output.trimmingCharacters(in: .newlines)
    let operations = #"[{"op":"test","path":"/on","value":true},{"op":"remove","path":"/level"}]"#
    #expect(try server.run("patch", "light", "-", "--operations", "--if-match", cursor, input: operations).status == 0)
    #expect(try server.run("get", "light").output == "{\"on\":true}\n")
    let refused = try server.run("patch", "light", operations, "--operations")
    #expect(refused.status == 1 && refused.errors.filter { $0 == "\n" }.count == 1)
    #expect(try server.run("patch", "light", "{}", "--if-match", cursor).status == 1)
    #expect(try server.run("patch", "light", "on").status == 1)
    #expect(server.stop().status == 0)
  }

  @Test func `a time to live is given, and watch says when it is over`() throws {
    let server = try RunningServer()
    let watch = try Program(["watch", "a", "--no-initial"], ["SIGNAL_SERVER": server.url])
    try server.awaitWatcher(of: "a")
    var lines: [String] = []
    repeat {
      #expect(try server.run("set", "a", "1", "--ttl", "100ms").status == 0)
      lines.append(watch.line())
    } while lines.last?.contains("expired") != true
    #expect(lines.last?.hasSuffix(" → (expired)") == true)
    #expect(try server.run("set", "a", "1", "--ttl", "1").status == 1)
    watch.process.interrupt()
    #expect(watch.end().status == 0)
    #expect(server.stop().status == 0)
  }

  @Test func `signals are sent and watched, and timers send them`() throws {
    let server = try RunningServer()
    #expect(try server.run("send", "bell/front", "ann", "--string", "--remember").status == 0)
    let watch = try Program(
      ["watch", "--signals", "bell/*", "--where", "message != 'nobody'"], ["SIGNAL_SERVER": server.url])
    #expect(watch.line() == #"bell/front  "ann""#)
    #expect(try server.run("send", "bell/front", #""nobody""#).status == 0)
    #expect(try server.run("fire", "bell/back", "-", input: "{\"floor\": 3}").status == 0)
    #expect(watch.line() == #"bell/back   {"floor":3}"#)
    let timer = try server.run("timer", "bell/tea", "--after", "10ms", "--message", "true")
    #expect(timer.status == 0 && timer.output.hasPrefix(#"{"path":"bell/tea","after":"10ms","message":true,"next":""#))
    #expect(watch.line() == "bell/tea    true")
    #expect(try server.run("timer", "tick", "--every", "1h").status == 0)
    #expect(try server.run("timer").output.hasPrefix(#"{"timers":[{"path":"tick","every":"1h""#))
    #expect(try server.run("timer", "tick", "--delete").status == 0)
    #expect(try server.run("timer", "tick").status == 1)
    #expect(try server.run("timer", "tick", "--every", "1h", "--after", "1h").status == 64)
    watch.process.interrupt()
    #expect(watch.end().status == 0)
    #expect(server.stop().status == 0)
  }

  @Test func `a held property goes with the process that holds it, however that ends`() throws {
    let server = try RunningServer()
    for end in [SIGKILL, SIGTERM, SIGINT] {
      let holder = try Program(["set", "presence/ann", #""here""#, "--hold"], ["SIGNAL_SERVER": server.url])
      let cursor = holder.line()
      #expect(try server.run("get", "presence/ann").output == "\"here\"\n")
      holder.process.send(end)
      holder.process.waitUntilExit()
      #expect(try server.run("wait", "presence/ann", "--until", "value == null", "--timeout", "20s").status == 0)
      let again = try server.run("get", "presence/ann", "--pointer", "/x")
      #expect(again.status == 1, "\(cursor)")
    }
    // One that comes back over another connection is not ended by the end of the first.
    let first = try Program(["set", "presence/ann", "1", "--hold"], ["SIGNAL_SERVER": server.url])
    _ = first.line()
    let second = try Program(["set", "presence/ann", "1", "--hold"], ["SIGNAL_SERVER": server.url])
    _ = second.line()
    first.process.send(SIGKILL)
    first.process.waitUntilExit()
    #expect(try server.run("wait", "presence/ann", "--until", "value == null", "--timeout", "300ms").status != 0)
    #expect(try server.run("get", "presence/ann").output == "1\n")
    second.process.send(SIGKILL)
    second.process.waitUntilExit()
    #expect(try server.run("wait", "presence/ann", "--until", "value == null", "--timeout", "20s").status == 0)
    let refused = try server.run("set", "presence/ann", "1", "--hold", "--if-match", "e.1")
    #expect(refused.status == 1 && refused.output.isEmpty)
    #expect(server.stop().status == 0)
  }

  @Test func `watch tells the state, then every change, and survives a restart of the server`() throws {
    let server = try RunningServer()
    #expect(try server.run("set", "kitchen/temperature", "21.5").status == 0)
    let watch = try Program(["watch", "kitchen/**", "--where", "value > 20.0"], ["SIGNAL_SERVER": server.url])
    #expect(watch.line() == "kitchen/temperature  21.5")
    #expect(try server.run("set", "kitchen/temperature", "22.0").status == 0)
    #expect(watch.line() == "kitchen/temperature  21.5  → 22.0")
    #expect(try server.run("set", "kitchen/temperature", "3").status == 0)
    #expect(watch.line() == "kitchen/temperature  22.0  → 3  (left)")
    #expect(try server.run("set", "kitchen/temperature", "30").status == 0)
    #expect(watch.line() == "kitchen/temperature  3     → 30  (entered)")
    // Gone without a word, back on the same port with nothing in it.
    server.program.process.send(SIGKILL)
    server.program.process.waitUntilExit()
    let port = String(server.url.split(separator: ":").last ?? "")
    let again = try Program(["serve", "--port", port])
    #expect(again.line() == "listening on \(server.url)")
    #expect(watch.line() == "kitchen/temperature  30    → (left)")
    watch.process.interrupt()
    let end = watch.end()
    #expect(end.status == 0)
    #expect(end.errors.hasSuffix("; reconnecting\nsignal-server: connected again\n"), "\(end.errors)")
    again.process.terminate()
    #expect(again.end().status == 0)
  }

  @Test func `watch as JSON prints events as they came and ends after a count`() throws {
    let server = try RunningServer()
    #expect(try server.run("set", "a", "1").status == 0)
    let run = try server.run("watch", "**", "--json", "--count", "1")
    #expect(run.status == 0 && run.errors.isEmpty)
    #expect(run.output.hasPrefix(#"{"type":"didSet","subscription":1,"path":"a","value":1,"revision":1,"time":""#))
    let refused = try server.run("watch", "**", "--where", "value >")
    #expect(refused.status == 1 && refused.errors.filter { $0 == "\n" }.count == 1)
    // A filter on the change has no exits, which the verb finds out by itself.
    let change = try Program(
      ["watch", "**", "--where", "oldValue != null", "--count", "1"], ["SIGNAL_SERVER": server.url])
    // Whether it has subscribed yet cannot be seen, so the value goes on changing until it has.
    var value = 1
    while change.process.isRunning {
      value += 1
      #expect(try server.run("set", "a", "\(value)").status == 0)
    }
    #expect(change.end().output.hasPrefix("a  "))
    #expect(server.stop().status == 0)
  }

  @Test func `top shows what changes, as a table or as objects`() throws {
    let server = try RunningServer()
    #expect(try server.run("set", "quiet", "1").status == 0)
    let top = try Program(["top", "**", "--json", "--interval", "100ms"], ["SIGNAL_SERVER": server.url])
    try server.awaitWatcher(of: "a/b")
    #expect(try server.run("set", "a/b", "21.5").status == 0)
    let line = top.line()
    #expect(line.hasPrefix(#"{"time":""#) && line.hasSuffix(#","total":1,"value":21.5}"#), "\(line)")
    #expect(line.contains(#""path":"a/b","rate":"#))
    top.process.interrupt()
    #expect(top.end().status == 0)
    let table = try server.run("top", "--count", "2", "--interval", "100ms")
    #expect(table.status == 0 && table.errors.isEmpty)
    #expect(table.output.matches(of: /0\.0 changes\/s  mean 0\.0 .*\nRATE  MEAN  TOTAL  PATH  VALUE\n\n/).count == 2)
    #expect(table.output.hasPrefix("signal-server top  \(server.url)  "))
    for wrong in [["--interval", "99ms"], ["--interval", "soon"], ["--count", "0"], ["--limit", "0"]] {
      #expect(try Program.run(["top"] + wrong).status == 64)
    }
    #expect(try server.run("top", "--where", "value >").status == 1)
    #expect(server.stop().status == 0)
  }

  @Test func `watch draws the last numbers of each path`() throws {
    let server = try RunningServer()
    let chart = try Program(
      ["watch", "a", "--chart", "--pointer", "/x", "--count", "3"], ["SIGNAL_SERVER": server.url])
    try server.awaitWatcher(of: "a")
    for value in ["1", "5", "3"] { #expect(try server.run("set", "a", #"{"x":\#(value)}"#).status == 0) }
    #expect(
      chart.end()
        == .init(status: 0, output: "a  ▅  1\na  ▁█  5  min 1.0  max 5.0\na  ▁█▅  3  min 1.0  max 5.0\n", errors: ""))
    #expect(try server.run("watch", "a", "--chart", "--json").status == 64)
    #expect(try server.run("watch", "a", "--chart", "--time").status == 64)
    #expect(server.stop().status == 0)
  }

  @Test func `without a terminal nothing is asked, and no input is waited for`() throws {
    let server = try RunningServer()
    for (arguments, status) in [
      (["set", "a/b", "1"], 0), (["set", "a/b"], 64), (["delete", "a/**"], 0), (["rm", "**", "--where", "true"], 0),
      (["transaction", "a=1"], 0), (["transaction"], 64), (["patch", "a"], 64), (["get", "none"], 1),
      (["import", "/dev/null"], 0), (["import", "/dev/null", "--replace"], 65), (["send", "a"], 0), (["list"], 0),
      (["help"], 0), (["token"], 0),
      (["top", "--count", "1", "--interval", "100ms"], 0), (["restore", "/dev/null", "--data", "/nowhere"], 65),
    ] as [([String], Int32)] {
      let run = try Program(arguments, ["SIGNAL_SERVER": server.url], input: nil).end()
      #expect(run.status == status, "\(arguments): \(run)")
    }
    #expect(server.stop().status == 0)
  }

  @Test func `without a server the client verbs say so`() throws {
    // Nobody can listen on port 1 of an address that is nobody's but this machine's.
    for verb in [
      ["get", "a"], ["set", "a", "1"], ["delete", "a"], ["watch", "a"], ["watch", "a", "--chart"], ["top"],
    ] {
      let run = try Program.run(verb, ["SIGNAL_SERVER": "http://127.255.255.254:1"])
      #expect(run.status == 69, "\(verb)")
      #expect(run.errors.hasPrefix("signal-server: http://127.255.255.254:1: "), "\(run.errors)")
    }
    #expect(try Program.run(["health", "--server", "http://127.255.255.254:1"]).status == 1)
  }

  @Test(
    arguments: [
      (["--port", "x"], 78, "signal-server: port: 'x' is not an integer from 0 to 65535 (flag --port)\n"),
      (["serve", "--prot=1"], 64, "signal-server: unknown flag '--prot'; did you mean --port?\n"),
      (["wach"], 64, "signal-server: unexpected argument 'wach'; did you mean watch?\n"),
      (
        ["--config", "/nowhere/x.yaml"], 78,
        "signal-server: cannot read '/nowhere/x.yaml': No such file or directory (flag --config)\n"
      ),
      (
        ["set", "a", "1", "--if-absent", "--if-match", "x"], 64,
        "signal-server: --if-match and --if-absent exclude each other\n"
      ),
      (["get", "a", "--server", "ftp://a"], 64, nil),
      (["watch"], 64, nil),
      (["serve", "--host", "192.0.2.1", "--port", "0", "--access-open", "true"], 71, nil),
      (
        ["serve", "--host", "0.0.0.0", "--port", "0"], 78,
        "signal-server: access: has to be said, as other machines reach http://0.0.0.0:0: rules, or `access: open` "
          + "for whoever does (flag --host)\n"
      ),
    ] as [([String], Int32, String?)])
  func `what cannot be done ends with one line and its status`(
    arguments: [String], status: Int32, line: String?
  ) throws {
    let run = try Program.run(arguments)
    #expect(run.status == status)
    #expect(run.output.isEmpty)
    #expect(run.errors.hasPrefix("signal-server: ") && run.errors.filter { $0 == "\n" }.count == 1, "\(run.errors)")
    if let line { #expect(run.errors == line) }
  }

  @Test func `a port that is taken is told, and the server that has it goes on`() throws {
    let server = try RunningServer()
    let port = String(server.url.split(separator: ":").last ?? "")
    let second = try Program.run(["serve", "--port", port])
    #expect(second.status == 71)
    #expect(
      second.errors == "signal-server: cannot serve: bind 127.0.0.1:\(port): Address already in use; "
        + "--port 0 picks a free one\n")
    #expect(try server.run("health").status == 0)
    #expect(server.stop().status == 0)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a process signal drains the server, and it ends with success`(number: Int32) throws {
    let server = try RunningServer()
    let watch = try Program(["watch", "**", "--json"], ["SIGNAL_SERVER": server.url])
    #expect(watch.line().hasPrefix(#"{"type":"live""#))
    server.program.process.send(number)
    #expect(server.program.end().status == 0)
    watch.process.terminate()
    #expect(watch.end().status == 0)
  }

  @Test func `settings can be checked and printed without serving`() throws {
    #expect(
      try Program.run(["serve", "--check-config"]) == .init(status: 0, output: "the settings are valid\n", errors: ""))
    #expect(try Program.run(["serve", "--check-config"], ["SIGNAL_PROT": "1"]).status == 78)
    let printed = try Program.run(["--print-config", "--loops", "1"], ["SIGNAL_PORT": "9"])
    #expect(printed.status == 0)
    #expect(printed.output.contains(/port: 9 +# environment SIGNAL_PORT\n/))
    #expect(printed.output.contains(/listen: \[\] +# default\nmemory: 0 +# default\nloops: 1 +# flag --loops\n/))
  }

  @Test func `help and version are success`() throws {
    for arguments in [["--help"], ["serve", "--help"], ["watch", "--help"], ["help", "set"], ["--version"]] {
      let run = try Program.run(arguments)
      #expect(run.status == 0 && !run.output.isEmpty && run.errors.isEmpty, "\(arguments)")
    }
  }
}
