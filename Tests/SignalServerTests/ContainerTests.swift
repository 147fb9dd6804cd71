// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// What only containers do: verbs that find the server by its settings, and the script that builds the image.
@Suite("In a container")
struct ContainerTests {
  @Test func `every client verb finds the server by the settings of its environment`() throws {
    let server = try RunningServer()
    let port = String(server.url.split(separator: ":").last ?? "")
    // As in the image: the server listens on all addresses, and its port has been changed.
    for environment in [["SIGNAL_PORT": port], ["SIGNAL_PORT": port, "SIGNAL_HOST": "0.0.0.0"]] {
      for (arguments, output) in [
        (["set", "a", "1", "--always"], nil), (["get", "a"], "1\n"),
        (["watch", "a", "--count", "1", "--no-time"], "a  1\n"),
        (["wait", "a", "--until", "value == 1"], "1\n"), (["health"], "ready\n"), (["timer"], nil),
        (["send", "a"], ""),
      ] as [([String], String?)] {
        let run = try Program.run(arguments, environment)
        #expect(run.status == 0 && run.errors.isEmpty, "\(arguments): \(run)")
        if let output { #expect(run.output == output, "\(arguments)") }
      }
    }
    // What is named wins.
    let named = ["SIGNAL_PORT": "1", "SIGNAL_SERVER": server.url]
    #expect(try Program.run(["get", "a"], named).status == 0)
    #expect(try Program.run(["get", "a", "--server", server.url], ["SIGNAL_PORT": "1"]).status == 0)
    #expect(server.stop().status == 0)
  }

  @Test func `settings that name no server are told`() throws {
    for (environment, status, line) in [
      (["SIGNAL_PORT": "x"], 78, "port: 'x' is not an integer from 0 to 65535 (environment SIGNAL_PORT)"),
      (
        ["SIGNAL_PORT": "0"], 64,
        "port 0 is one that the system picks, so nothing says where the server is; give --server"
      ),
    ] {
      let run = try Program.run(["get", "a"], environment)
      #expect(run == .init(status: Int32(status), output: "", errors: "signal-server: \(line)\n"))
    }
  }

  /// Builds the image with these programs instead of those of the machine; gives back what was run.
  ///
  /// - Parameter path: Where programs are looked for after these.
  private func buildImage(
    with tools: [String: String], _ arguments: [String] = [], path: String = ""
  ) throws -> Program.Run {
    let folder = FileManager.default.temporaryDirectory.appending(path: "signal-image-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, script) in tools {
      let file = folder.appending(path: name)
      try "#!/bin/sh\n\(script)\n".write(to: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "dirname"), withDestinationURL: URL(filePath: "/usr/bin/dirname"))
    let script = URL(filePath: #filePath).appending(path: "../../../scripts/image.sh").standardizedFileURL
    let program = try Program(
      [script.path] + arguments, ["PATH": folder.path + path], executable: "/bin/sh")
    return program.end()
  }

  private static let asks = #"[ "$1" != version ] || exit 0; echo "$0 $*""#
  private static let noDaemon = #"[ "$1" != version ] || exit 1; echo "$0 $*""#

  @Test(arguments: [
    (["docker": asks, "podman": asks], "docker build --file"),
    (["docker": noDaemon, "podman": asks], "podman build --format=docker --file"),
    (["docker": noDaemon, "buildah": noDaemon], "buildah build --format=docker --file"),
    (["podman": asks, "buildah": asks], "podman build --format=docker --file"),
  ])
  func `the image is built by the first tool that can`(tools: [String: String], command: String) throws {
    let run = try buildImage(with: tools)
    #expect(run.status == 0)
    #expect(run.output.contains("/\(command) Dockerfile --tag signal-server:latest ."), "\(run)")
  }

  private static let canLayOut =
    ["/usr/bin/strip", "/usr/bin/ldd", "/usr/share/zoneinfo/UTC", "/etc/ssl/certs/ca-certificates.crt"]
    .allSatisfy { FileManager.default.fileExists(atPath: $0) }

  @Test(.enabled(if: canLayOut, "there is nothing here to make an image of"))
  func `without a registry it is made of a Debian's files, by the last stage of the Dockerfile`() throws {
    let shows = #"""
      [ "$1" != version ] || exit 0
      [ "$1 $2 $4 $5" = "build --file --tag signal-server:latest" ] || exit 1
      cat "$3"
      cd "$6" && find . | sort
      """#
    let run = try buildImage(
      with: ["docker": shows], ["--base", "/", "--binary", "/bin/true"], path: ":/usr/bin:/bin")
    #expect(run.status == 0, "\(run)")
    let lines = run.output.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0.hasPrefix("FROM ") } == ["FROM scratch"])
    #expect(
      lines.filter { $0.hasPrefix("COPY ") } == [
        "COPY image/root/ /", "COPY --chown=65532:65532 image/data/ /data/",
      ])
    for file in [
      "data", "root/usr/bin/signal-server", "root/etc/passwd", "root/etc/ssl/certs/ca-certificates.crt",
      "root/usr/share/zoneinfo/Europe/Berlin", "root/tmp",
    ] {
      #expect(lines.contains("./image/\(file)"), "\(file)")
    }
    // The C library and its loader, and no shell.
    #expect(lines.contains { $0.contains("/libc.so.6") } && lines.contains { $0.contains("/ld-linux") })
    #expect(!lines.contains { $0.hasSuffix("/sh") })
  }

  @Test(arguments: [["--binary", "/bin/true"], ["--bse", "/"], ["--base"]])
  func `a wrong command line of the script is refused`(arguments: [String]) throws {
    let run = try buildImage(with: ["docker": Self.asks], arguments)
    #expect(run.status != 0 && run.output.isEmpty && !run.errors.isEmpty, "\(run)")
  }

  @Test(arguments: [[:], ["docker": noDaemon]])
  func `without one it says what is missing`(tools: [String: String]) throws {
    let run = try buildImage(with: tools)
    #expect(run.status == 1 && run.output.isEmpty)
    #expect(
      run.errors.hasSuffix(
        "None of docker (with its daemon running), podman and buildah is here to build an image with.\n"))
  }
}
