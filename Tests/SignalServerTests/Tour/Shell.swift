// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

/// The terminals of a reader: one shell in which lines run one after the other, and what was left running.
final class Shell {
  /// Where outputs are collected.
  let folder: URL
  private let process: ChildProcess
  private let input = Pipe()
  private var lines: [String] = []
  private var notes: [Int: String] = [:]
  private var port: UInt16 = 0
  /// What stands in for the port 8000, of a server of files.
  private let filesPort: UInt16
  /// Of the server, and of itself before it was killed.
  private var epochs: [String] = []

  /// How long a line may take, and how long one that goes on may be silent at first.
  private static let patience = Duration.seconds(60)
  private static let silence = Duration.seconds(1)

  init() throws {
    filesPort = try Self.freePort()
    folder = FileManager.default.temporaryDirectory.appending(path: "tour-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process = try ChildProcess(
      try #require(Self.find("bash")), ["--norc", "--noprofile"],
      environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SIGNAL_") }, folder: folder.path,
      input: .pipe(input), errors: .file(try Self.emptyFile(folder.appending(path: "shell.err"))))
    try write("PATH='\(Self.executable.deletingLastPathComponent().path)':\"$PATH\"")
  }

  /// Saves a file in the folder of the shell.
  func save(_ name: String, _ text: String) throws {
    try local(text).write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
  }

  /// Makes a file or a folder of the repository available by its name.
  func link(_ name: String, in root: URL) throws {
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: name), withDestinationURL: root.appending(path: name))
  }

  /// Starts the server, in place of the one that is running, if there is one.
  func serve(_ options: String) throws {
    if port == 0 { _ = try startServer(local(options)) } else { try killServer(local(options)) }
  }

  /// Starts the server; gives back its port.
  ///
  /// - Parameter options: For its command line.
  func startServer(_ options: String = "") throws -> UInt16 {
    try write(
      """
      '\(Self.executable.path)' serve --port \(port) --log-level error \(options) >server.out 2>server.err </dev/null & server=$!
      """)
    try wait { !self.text("server.out").isEmpty }
    let printed = text("server.out").trimmingCharacters(in: .newlines)
    port = try #require(printed.split(separator: ":").last.flatMap { UInt16($0) })
    try write("export SIGNAL_SERVER=http://127.0.0.1:\(port)")
    let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
    let cursor = try client.request("GET", "/properties").value("Signal-Revision") ?? ""
    epochs.append(String(cursor.prefix { $0 != "." }))
    return port
  }

  /// Ends the server without a warning, and starts it again at the same place.
  func killServer(_ options: String) throws {
    try write("kill -KILL $server; wait $server 2>/dev/null; rm server.out; echo >killed")
    try wait { self.text("killed") == "\n" }
    try write("rm killed")
    _ = try startServer(options)
  }

  /// Runs a line to its end.
  func run(_ line: String) throws {
    let number = begin(line)
    try write("{ \(local(line))\n} >\(number).out 2>\(number).err </dev/null; echo $? >\(number).status")
    try wait { self.text("\(number).status").hasSuffix("\n") }
  }

  /// Starts a line that goes on, and gives it time to begin.
  func start(_ line: String) throws {
    let number = begin(line)
    try write("\(local(line)) >\(number).out 2>\(number).err </dev/null & started=\"$! $started\"")
    let end = ContinuousClock.now + Self.silence
    while text("\(number).out").isEmpty, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.02) }
  }

  /// Waits until what a line has started serves a page.
  func waitForAnswer(from url: String) throws {
    try wait { Self.succeeds("curl", ["-sfo", "/dev/null", local(url)]) }
  }

  /// Takes down what came of a line that ran elsewhere.
  func note(_ line: String, _ output: [String]) {
    notes[begin(line)] = output.joined(separator: "\n")
  }

  /// Stops what goes on, when it has had time to put out the rest.
  ///
  /// - Parameter isComplete: Whether all is there that is expected, for which there is some patience.
  func settle(_ isComplete: ([TourRecord]) -> Bool = { _ in true }) throws {
    let end = ContinuousClock.now + Self.patience
    while !isComplete(record()), ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.1) }
    Thread.sleep(forTimeInterval: 1)
    // The newest first, so that the end of one is not seen by those that watch it. And whatever runs tests may have blocked
    // the signals that ask.
    try write("[ -z \"$started\" ] || { kill -KILL $started; wait $started 2>/dev/null; }; echo >settled")
    try wait { self.text("settled") == "\n" }
  }

  /// What has come of the lines, without what is another each time.
  func record() -> [TourRecord] {
    lines.indices.map { number in
      var output = normal(notes[number] ?? text("\(number).out"))
      let status = text("\(number).status").trimmingCharacters(in: .newlines)
      if !status.isEmpty, status != "0" { output.append("(exit \(status))") }
      return TourRecord(line: lines[number].replacing("\n", with: " ↵ "), output: output)
    }
  }

  /// Ends the shell and the server.
  func end() {
    try? write("kill -KILL $(jobs -p) 2>/dev/null; exit")
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Lines

  /// How many records there are so far.
  var count: Int { lines.count }

  private func begin(_ line: String) -> Int {
    lines.append(line)
    return lines.count - 1
  }

  /// The line for this server, and this program.
  func local(_ line: String) -> String {
    line.replacing("localhost:8080", with: "localhost:\(port)")
      .replacing("localhost:8000", with: "localhost:\(filesPort)").replacing(
        "http.server 8000", with: "http.server \(filesPort)"
      )
      .replacing(".build/release/signal-server", with: "'\(Self.executable.path)'")
  }

  private func write(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  private func text(_ file: String) -> String {
    (try? String(contentsOf: folder.appending(path: file), encoding: .utf8)) ?? ""
  }

  private func wait(_ isDone: () -> Bool) throws {
    let end = ContinuousClock.now + Self.patience
    while !isDone() {
      try #require(ContinuousClock.now < end, "no end of: \(lines.last ?? "the start")")
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  /// The lines of an output, without times, the epoch and the port, and without what a silence brings: bookmarks, which
  /// repeat an `id:`, and comments.
  private func normal(_ output: String) -> [String] {
    let named = epochs.reduce(output) { $0.replacing($1, with: "<epoch>") }
    let lines = named.replacing("\r\n", with: "\n").replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "<time>")
      .replacing(/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]+ GMT/, with: "<date>")
      .replacing(/\b\d\d:\d\d:\d\d(\.\d+)?/, with: "<clock>")
      .replacing(":\(port)", with: ":8080").replacing(folder.path, with: "<folder>")
      .split(separator: "\n").map(String.init).filter { !$0.hasPrefix(": ") }
    return lines.indices.filter { index in
      index == 0 || !lines[index].hasPrefix("id: ") || lines[index] != lines[index - 1]
    }.map { lines[$0] }
  }

  // MARK: Programs

  /// Beside the tests, where the package manager puts it.
  static let executable: URL = {
    var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/", find("signal-server", in: [folder.path]) == nil { folder.deleteLastPathComponent() }
    return folder.appending(path: "signal-server")
  }()

  /// A program on the path.
  static func find(
    _ name: String,
    in folders: [String] = (ProcessInfo.processInfo.environment["PATH"] ?? "").components(separatedBy: ":")
  ) -> String? {
    folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Whether a program is there, and ends with the status 0.
  static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
    guard let found = find(program) else { return false }
    return (try? ChildProcess(found, arguments, output: .none, errors: .none))?.terminationStatus == 0
  }

  /// A port that was free a moment ago.
  private static func freePort() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(listener >= 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let found = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    try #require(found)
    return UInt16(bigEndian: address.sin_port)
  }

  static func emptyFile(_ file: URL) throws -> FileHandle {
    _ = FileManager.default.createFile(atPath: file.path, contents: nil)
    return try FileHandle(forWritingTo: file)
  }
}
