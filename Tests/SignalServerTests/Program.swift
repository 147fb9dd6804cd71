// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

/// The program as others run it: arguments in, two streams and a status out.
struct Program {
  /// What one run left behind.
  struct Run: Equatable {
    var status: Int32
    var output: String
    var errors: String
  }

  /// Beside the tests, where the package manager puts it.
  static let executable: URL = {
    var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    // Some runners are started inside a bundle.
    while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "signal-server").path) {
      folder.deleteLastPathComponent()
    }
    return folder.appending(path: "signal-server")
  }()

  let process: ChildProcess
  private let output = Pipe()
  private let errors = Pipe()
  private let input = Pipe()

  /// Starts it with nothing of ours in its environment but what is given.
  ///
  /// - Parameter text: Its input; with nil there is none, and no end of it either.
  init(
    _ arguments: [String], _ environment: [String: String] = [:], input text: String? = "", executable: String? = nil
  ) throws {
    process = try ChildProcess(
      executable ?? Self.executable.path, arguments,
      environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SIGNAL_") }
        .merging(environment) { $1 },
      input: .pipe(input), output: .pipe(output), errors: .pipe(errors))
    guard let text else { return }
    input.fileHandleForWriting.write(Data(text.utf8))
    try input.fileHandleForWriting.close()
  }

  /// The next line of its output.
  func line() -> String { Self.line(of: output) }

  /// The next line of its errors.
  func complaint() -> String { Self.line(of: errors) }

  private static func line(of pipe: Pipe) -> String {
    var bytes: [UInt8] = []
    while let byte = pipe.fileHandleForReading.readData(ofLength: 1).first, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What is left behind when it has ended by itself.
  func end() -> Run {
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complained = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return Run(status: process.terminationStatus, output: said, errors: complained)
  }

  static func run(_ arguments: [String], _ environment: [String: String] = [:], input: String = "") throws -> Run {
    try Program(arguments, environment, input: input).end()
  }
}

/// A server on a port of its own choice.
struct RunningServer {
  let program: Program
  let url: String

  init(_ arguments: [String] = []) throws {
    program = try Program(
      ["serve", "--port", "0"] + (arguments.contains("--log-level") ? [] : ["--log-level", "error"]) + arguments)
    let line = program.line()
    url = String(line.dropFirst("listening on ".count))
    #expect(line.hasPrefix("listening on http://127.0.0.1:"), "\(line)")
  }

  func run(_ arguments: String..., input: String = "") throws -> Program.Run {
    try Program.run(arguments, ["SIGNAL_SERVER": url], input: input)
  }

  /// The next line of what it complains.
  func complaint() -> String { program.complaint() }

  /// Waits until somebody watches the path.
  func awaitWatcher(of path: String) throws {
    let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
    let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
    while try client.request("GET", "/properties/\(path)?watchers=true").value("Signal-Watchers") == "0" {
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  /// Asks it to stop; gives back what it left.
  func stop() -> Program.Run {
    program.process.terminate()
    return program.end()
  }
}
