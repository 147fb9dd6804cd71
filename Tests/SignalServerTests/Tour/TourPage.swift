// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Processes
import SignalHTTP
import Testing

/// The console of a browser on a page of the server.
protocol TourPage {
  /// Runs what is pasted; gives back what it logs until nothing more comes.
  func run(_ script: String) throws -> [String]
  func close()
}

/// A page in Chromium where there is one, else a client that does as its script says.
func openTourPage(port: UInt16, in folder: URL) throws -> any TourPage {
  guard let chromium = ChromiumPage.program else {
    print("No Chromium: a client of our own runs the lines of the tour that are for a browser.")
    return ConnectingPage(port: port)
  }
  return try ChromiumPage(chromium, "http://127.0.0.1:\(port)/health/live", in: folder)
}

/// How long nothing may come before the log of a step is taken for complete.
private let silence = Duration.milliseconds(700)

/// Takes out of a script where it connects and what it sends.
final class ConnectingPage: TourPage {
  private let port: UInt16
  private var socket: WebSocketClient?

  init(port: UInt16) { self.port = port }

  func run(_ script: String) throws -> [String] {
    if let target = script.firstMatch(of: /new WebSocket\(`ws:\/\/\$\{location\.host\}([^`]+)`\)/) {
      socket = try WebSocketClient(
        .tcp(host: "127.0.0.1", port: port), target: String(target.1).replacing(">", with: "%3E"), subprotocols: [])
    }
    let socket = try #require(socket)
    for message in script.matches(of: /socket\.send\('([^']+)'\)/) {
      try socket.send(String(message.1), timeout: .seconds(10))
    }
    var log: [String] = []
    while case .text(let message) = try socket.receive(timeout: silence) {
      log.append(String(decoding: message, as: UTF8.self))
    }
    return log
  }

  func close() { try? socket?.close() }
}

/// A page in Chromium, over its DevTools protocol.
final class ChromiumPage: TourPage {
  /// Where there is one.
  static var program: String? {
    ["chromium", "chromium-browser", "google-chrome"].lazy.compactMap { Shell.find($0) }.first
  }

  private let process: ChildProcess
  private let socket: WebSocketClient
  private var lastID = 0

  /// Starts Chromium with a page.
  init(_ chromium: String, _ url: String, in folder: URL) throws {
    let log = folder.appending(path: "chromium.err")
    process = try ChildProcess(
      chromium,
      [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
        "--user-data-dir=\(folder.appending(path: "chromium").path)", "about:blank",
      ],
      environment: ProcessInfo.processInfo.environment.merging(["HOME": folder.path]) { $1 }, output: .none,
      errors: .file(try Shell.emptyFile(log)))
    let end = ContinuousClock.now + .seconds(60)
    var found: UInt16?
    while found == nil {
      try #require(ContinuousClock.now < end, "Chromium does not say where its DevTools listen")
      Thread.sleep(forTimeInterval: 0.05)
      let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
      found = text.firstMatch(of: /listening on ws:\/\/127\.0\.0\.1:(\d+)\//).flatMap { UInt16($0.1) }
    }
    let devTools = try #require(found)
    let opened = try HTTPClient(.tcp(host: "127.0.0.1", port: devTools))
      .request("PUT", "/json/new?\(url)")
    let target = try #require(opened.text.firstMatch(of: /ws:\/\/[^\/]+(\/devtools\/page\/[^"]+)/))
    socket = try WebSocketClient(.tcp(host: "127.0.0.1", port: devTools), target: String(target.1), subprotocols: [])
    while try evaluate("document.readyState + location.href") != "\(JSONText("complete" + url))" {
      try #require(ContinuousClock.now < end, "Chromium does not show the page")
      Thread.sleep(forTimeInterval: 0.05)
    }
    _ = try evaluate("var logged = []; console.log = value => logged.push(JSON.stringify(value)); 0")
  }

  func run(_ script: String) throws -> [String] {
    // The value of a line without one is undefined, and of the last line whatever it is.
    _ = try evaluate(script + "\n;0")
    var log: [String] = []
    var lastChange = ContinuousClock.now
    while ContinuousClock.now - lastChange < silence {
      let now = try lines(evaluate("logged.join('\\n')"))
      if now.count > log.count { lastChange = ContinuousClock.now }
      log = now
      Thread.sleep(forTimeInterval: 0.05)
    }
    _ = try evaluate("logged.length = 0")
    return log
  }

  /// What is to be read on the page, line by line: as soon as it is as wanted, for which there is some patience, or when it
  /// has not changed for some time.
  ///
  /// - Parameter isWanted: `nil` where nobody knows.
  func text(_ isWanted: ([String]) -> Bool?) throws -> [String] {
    let end = ContinuousClock.now + .seconds(30)
    var shown: [String] = []
    var lastChange = ContinuousClock.now
    while ContinuousClock.now < end {
      let now = try lines(evaluate("document.body.innerText"))
      if now != shown { lastChange = ContinuousClock.now }
      shown = now
      if isWanted(now) ?? (ContinuousClock.now - lastChange > silence) { break }
      Thread.sleep(forTimeInterval: 0.05)
    }
    return shown
  }

  /// Clicks on the button of that name.
  func click(_ name: String) throws {
    let button = "[...document.querySelectorAll('button')].find((button) => button.innerText === \(JSONText(name)))"
    _ = try evaluate("\(button).click(); 0")
  }

  private func lines(_ json: String) throws -> [String] {
    try #require(JSONTree(JSONText(validating: json)).string(.root)).split(separator: "\n").map(String.init)
  }

  /// The value of an expression on the page, as JSON.
  private func evaluate(_ expression: String) throws -> String {
    lastID += 1
    try socket.send(
      """
      {"id":\(lastID),"method":"Runtime.evaluate","params":{"expression":\(JSONText(expression)),"replMode":true,\
      "returnByValue":true}}
      """, timeout: .seconds(10))
    while case .text(let message) = try socket.receive(timeout: .seconds(30)) {
      let tree = JSONTree(try JSONText(validating: message))
      guard tree.member("id", of: .root).flatMap({ tree.int64($0) }) == Int64(lastID) else { continue }
      guard let outer = tree.member("result", of: .root) else { break }
      let failure = tree.member("exceptionDetails", of: outer)
      try #require(failure == nil, "\(String(decoding: message, as: UTF8.self))")
      let value = tree.member("result", of: outer).flatMap { tree.member("value", of: $0) }
      return value.map { tree.text(of: $0).description } ?? "undefined"
    }
    throw ClientError.timedOut
  }

  func close() {
    try? socket.close()
    process.terminate()
    process.waitUntilExit()
  }
}
