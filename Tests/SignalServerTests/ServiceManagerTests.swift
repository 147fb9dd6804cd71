// SPDX-License-Identifier: MIT
import Foundation
import Processes
import Testing

@testable import signal_server

/// The socket of a service manager.
private final class ManagerSocket {
  /// What `NOTIFY_SOCKET` is.
  let name: String
  private let descriptor: Int32
  private let file: String?

  init(isAbstract: Bool) throws {
    let path = "\(FileManager.default.temporaryDirectory.path)/signal-notify-\(UUID())"
    file = isAbstract ? nil : path
    name = isAbstract ? "@\(path)" : path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = isAbstract ? [0] + Array(path.utf8) : Array(path.utf8) + [0]
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let length = socklen_t(2 + bytes.count)
    let status = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
    }
    try #require(status == 0, "bind \(name): \(errno)")
  }

  deinit {
    close(descriptor)
    if let file { unsafe unlink(file) }
  }

  /// The next notification, line by line.
  func receive() throws -> [String] {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
    try #require(count >= 0, "no notification has come")
    return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
  }
}

@Suite("Under a service manager")
struct ServiceManagerTests {
  @Test(arguments: [false, true])
  func `it is notified when the server serves, reloads and stops`(isAbstract: Bool) throws {
    let manager = try ManagerSocket(isAbstract: isAbstract)
    let file = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID()).yaml")
    defer { try? FileManager.default.removeItem(at: file) }
    try "log.level: critical\n".write(to: file, atomically: true, encoding: .utf8)
    let program = try Program(
      ["serve", "--port", "0", "--config", file.path], ["NOTIFY_SOCKET": manager.name])
    #expect(try manager.receive() == ["READY=1", "STATUS=serving"])
    let url = String(program.line().dropFirst("listening on ".count))
    #expect(try Program.run(["set", "a", "1", "--server", url]).status == 0)
    // Whether the settings are taken over or not: it serves again.
    for text in ["log.level: error\n", "log.level: nonsense\n"] {
      try text.write(to: file, atomically: true, encoding: .utf8)
      program.process.send(SIGHUP)
      let reloading = try manager.receive()
      #expect(reloading.first == "RELOADING=1" && reloading.last == "STATUS=reading the settings", "\(reloading)")
      #expect(reloading.dropFirst().first?.wholeMatch(of: /MONOTONIC_USEC=[1-9][0-9]*/) != nil, "\(reloading)")
      #expect(try manager.receive() == ["READY=1", "STATUS=serving"])
      #expect(try Program.run(["get", "a", "--server", url]).output == "1\n")
    }
    program.process.terminate()
    #expect(try manager.receive() == ["STOPPING=1", "STATUS=draining"])
    #expect(program.end().status == 0)
  }

  @Test(arguments: [
    ("/nowhere/socket", "the service manager cannot be notified: No such file or directory"),
    (
      "nowhere",
      "the service manager cannot be notified: NOTIFY_SOCKET 'nowhere': Address family not supported by protocol"
    ),
    ("@", "the service manager cannot be notified: NOTIFY_SOCKET '@': Invalid argument"),
  ])
  func `one that cannot be notified is logged, and the server serves`(name: String, complaint: String) throws {
    let program = try Program(["serve", "--port", "0", "--log-level", "warning"], ["NOTIFY_SOCKET": name])
    let url = String(program.line().dropFirst("listening on ".count))
    #expect(program.complaint().hasSuffix(complaint))
    #expect(try Program.run(["set", "a", "1", "--server", url]).status == 0)
    program.process.terminate()
    #expect(program.end().status == 0)
  }

  @Test func `an address that is too long is refused`() {
    #expect(throws: Never.self) { try ServiceManager("/" + String(repeating: "a", count: 106)) }
    #expect(throws: SystemFailure(code: ENAMETOOLONG)) {
      try ServiceManager("/" + String(repeating: "a", count: 107))
    }
    #expect(throws: SystemFailure(code: EINVAL)) { try ServiceManager("/a\0b") }
  }
}
