// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP
import Testing

@testable import signal_server

@Suite("The server that client verbs talk to")
struct ServerURLTests {
  @Test(arguments: [
    ("http://a", "a", 80), ("http://a/", "a", 80), ("http://a:8080", "a", 8080), ("http://a:8080/", "a", 8080),
    ("HTTP://127.0.0.1:1", "127.0.0.1", 1), ("http://[::1]:65535", "::1", 65_535), ("http://[::1]", "::1", 80),
  ])
  func `a URL is host and port`(text: String, host: String, port: Int) throws {
    let url = try ServerURL(text, from: "--server")
    #expect(url == ServerURL(.tcp(host: host, port: UInt16(port))))
    #expect(try ServerURL(url.description, from: "") == url)
  }

  @Test(arguments: [
    ("https://a:0", "--server: 'https://a:0' has no port from 1 to 65535 behind its colon"),
    ("a:8080", "--server: 'a:8080' is not a URL that begins with http://, https:// or unix:/"),
    ("", "--server: '' is not a URL that begins with http://, https:// or unix:/"),
    ("ws://a", "--server: 'ws://a' is not a URL that begins with http://, https:// or unix:/"),
    ("http://", "--server: 'http://' has no host"),
    ("http://:80", "--server: 'http://:80' has no host"),
    ("http://a b", "--server: 'http://a b' has no host"),
    ("http://a:0", "--server: 'http://a:0' has no port from 1 to 65535 behind its colon"),
    ("http://a:65536", "--server: 'http://a:65536' has no port from 1 to 65535 behind its colon"),
    ("http://a:", "--server: 'http://a:' has no port from 1 to 65535 behind its colon"),
    ("http://::1:80", "--server: 'http://::1:80' needs brackets around its IPv6 address"),
    ("http://a/b", "--server: 'http://a/b' has a path; end it behind the host and the port"),
    ("unix:", "--server: 'unix:' has no path of a socket, such as unix:/run/signal/socket"),
    ("unix:socket", "--server: 'unix:socket' has no path of a socket, such as unix:/run/signal/socket"),
    ("unix:/run/", "--server: 'unix:/run/' has no path of a socket, such as unix:/run/signal/socket"),
    (
      "unix:/" + String(repeating: "a", count: 107),
      "--server: 'unix:/\(String(repeating: "a", count: 107))' has a path of more than 107 bytes, more than the system takes"
    ),
    ("http://a?b", "--server: 'http://a?b' must not go on behind host and port"),
    ("http://u@a", "--server: 'http://u@a' must not go on behind host and port"),
  ])
  func `anything else is refused with the reason`(text: String, line: String) {
    #expect(throws: Failure(.usage, line)) { try ServerURL(text, from: "--server") }
  }

  @Test func `a unix socket is a URL, too, and the first listener is the one that is asked`() throws {
    let url = try ServerURL("unix:/run/signal/socket", from: "--server")
    #expect(url.endpoint == .unix(path: "/run/signal/socket") && url.endpoint.authority == "localhost")
    #expect(try ServerURL(url.description, from: "") == url)
    var settings = Settings()
    settings.listen = [ListenerConfiguration(url.endpoint), ListenerConfiguration(.tcp(host: "::", port: 9))]
    #expect(ServerURL(listeningWith: settings) == url)
    settings.listen.removeFirst()
    #expect(ServerURL(listeningWith: settings).description == "http://[::1]:9")
  }

  @Test(arguments: [
    ("127.0.0.1", "http://127.0.0.1:9"), ("0.0.0.0", "http://127.0.0.1:9"), ("::", "http://[::1]:9"),
    ("[::]", "http://[::1]:9"), ("[fe80::1]", "http://[fe80::1]:9"), ("db", "http://db:9"),
  ])
  func `a server on all addresses is asked on the loopback one`(host: String, url: String) {
    var settings = Settings()
    settings.host = host
    settings.port = 9
    #expect(ServerURL(listeningWith: settings).description == url)
  }
}

@Suite("Requests of client verbs")
struct RequestTests {
  @Test(arguments: [
    ("kitchen/temperature", "/properties/kitchen/temperature"), ("a b", "/properties/a%20b"),
    ("grün", "/properties/gr%C3%BCn"), ("a%2Fb", "/properties/a%252Fb"), ("a?b#c&d+e", "/properties/a%3Fb%23c%26d%2Be"),
    ("/a/", "/properties//a/"), ("~-._", "/properties/~-._"), ("\n", "/properties/%0A"),
  ])
  func `a path is encoded byte by byte, its slashes kept`(path: String, target: String) {
    #expect(PropertyTarget.make(path) == target)
  }

  @Test func `a query is encoded whole`() {
    #expect(
      PropertyTarget.make("a", [(name: "pointer", value: "/b c/+"), (name: "always", value: "true")])
        == "/properties/a?pointer=%2Fb%20c%2F%2B&always=true")
  }

  @Test(arguments: [
    (#"{"title":"Not found","detail":"There is none."}"#, "There is none."),
    (#"{"title":"The text is not JSON","detail":"a comma is missing"}"#, "The text is not JSON: a comma is missing"),
    (#"{"title":"Too much","detail":"Too much"}"#, "Too much"),
    (#"{"title":"Not found"}"#, "Not found"), (#"{"detail":"x"}"#, nil), ("", nil), ("<html>", nil), ("[]", nil),
  ])
  func `a problem is its detail, with the title where that says more`(body: String, line: String?) {
    #expect(Members.problemText(in: Array(body.utf8)) == line)
  }

  @Test(arguments: [
    (["set", "a", "-5"], ["set", "a", "-5"]),
    (["set", "a", "-5.5e3", "--always"], ["set", "a", "-5.5e3", "--always"]),
  ])
  func `a negative number is a value`(arguments: [String], expected: [String]) throws {
    let verb = try #require(try SignalServer.parseAsRoot(Operand.marked(arguments)) as? SetVerb)
    #expect(verb.path.text == "a")
    #expect(verb.value.text == expected[2])
  }

  @Test func `without a verb it serves, and flags of settings come through in order`() throws {
    let verb = try #require(
      try SignalServer.parseAsRoot(Operand.marked(["--port", "-1", "--config", "f", "--host=x", "y"])) as? ServeVerb)
    #expect(verb.config == "f")
    #expect(verb.flags.map(\.text) == ["--port", "-1", "--host=x", "y"])
  }
}

@Suite("Values of set")
struct SetValueTests {
  private func body(_ text: String, isText: Bool = false, isInput: Bool = false) throws(Failure) -> String {
    try SetValue.json(from: Array(text.utf8), isText: isText, isInput: isInput).description
  }

  @Test(arguments: [("21.50", "21.50"), (" { \"a\" : 1 } \n", "{\"a\":1}"), ("\"on\"", "\"on\""), ("-5", "-5")])
  func `JSON is sent without insignificant space`(text: String, sent: String) throws {
    #expect(try body(text) == sent)
    #expect(try body(text, isInput: true) == sent)
  }

  @Test func `text becomes a string, without the line end of an input`() throws {
    #expect(try body("on", isText: true) == "\"on\"")
    #expect(try body("a\"\n", isText: true) == #""a\"\n""#)
    #expect(try body("a\"\n", isText: true, isInput: true) == #""a\"""#)
    #expect(try body("a\n\n", isText: true, isInput: true) == #""a\n""#)
    #expect(throws: Failure(.usage, "the text is not UTF-8")) {
      try SetValue.json(from: [0xFF], isText: true, isInput: false)
    }
  }

  @Test func `what is no JSON is refused, with the way to quote it`() throws {
    let failure = try #require(throws: Failure.self) { try body("on") }
    #expect(failure.status == .usage)
    #expect(failure.message.hasPrefix("'on' is not JSON: "))
    #expect(failure.message.hasSuffix("; for text, write '\"on\"' or add --string"))
    let input = try #require(throws: Failure.self) { try body("", isInput: true) }
    #expect(input.message.hasPrefix("the standard input is not JSON: "))
  }
}

@Suite("Log lines")
struct LogTests {
  private let fields = [(name: "peer", text: "127.0.0.1:1"), (name: "reason", text: "too \"slow\"\n")]

  private func line(_ format: Settings.Log.Format) -> String {
    let handler = LineLogHandler(format, LogLevel(.info))
    return handler.line(time: "T", level: "info", message: "closed\u{1B}[31m", fields: fields)
  }

  @Test func `for people it is words, and one line whatever is in them`() {
    #expect(line(.text) == #"T info     closed\u{1B}[31m peer=127.0.0.1:1 reason="too \"slow\"\n""#)
  }

  @Test func `for machines it is one object`() throws {
    let tree = JSONTree(try JSONText(validating: line(.json)))
    let members = Members(tree: tree, node: .root)
    #expect(members.string("level") == "info")
    #expect(members.string("message") == "closed\u{1B}[31m")
    #expect(members.string("reason") == "too \"slow\"\n")
    #expect(!line(.json).contains("\n"))
  }
}
