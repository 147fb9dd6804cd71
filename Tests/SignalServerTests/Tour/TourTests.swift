// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Testing

/// Pastes every line of the README's tour, in order, and compares what comes out with `Tour.txt`.
///
/// `SIGNAL_TOUR=record` writes what has changed into that file, to be read before it is committed. A line `…` in it leaves
/// the rest of an output open, where the pace of the machine decides; a first line `(in any order)` its order, where there
/// is none. The lines for a browser run in Chromium where there is one; else a
/// client of our own connects as they say.
@Suite("The README's tour")
struct TourTests {
  private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let expectation = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Tour.txt")

  @Test(.enabled(if: Shell.find("curl") != nil && Shell.find("bash") != nil, "the tour needs curl and bash"))
  func `every line does what it did`() throws {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let steps = try TourStep.steps(of: readme, under: "A tour")
    #expect(steps.count > 30)
    let shell = try Shell()
    defer { shell.end() }
    let port = try shell.startServer()
    let page = try openTourPage(port: port, in: shell.folder)
    defer { page.close() }
    for step in steps { try step.follow(in: shell, page) }
    try shell.settle()
    let record = shell.record()
    if TourRecord.isRecording { return try TourRecord.write(record, to: Self.expectation) }
    let expected = try TourRecord.read(Self.expectation)
    #expect(record.map(\.line) == expected.map(\.line), "the README has other lines than Tour.txt")
    TourRecord.compare(record, expected)
  }

  /// The line of the tour behind which the server is killed: its reader has just noted where he was.
  private static let lastBeforeKill = "curl -X PUT localhost:8080/properties/kitchen/temperature -d 23.5"

  @Test(.enabled(if: Shell.find("curl") != nil && Shell.find("bash") != nil, "the tour needs curl and bash"))
  func `with a folder for its data the server may be killed in the middle`() throws {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let steps = try TourStep.steps(of: readme, under: "A tour")
    let middle = try #require(
      steps.firstIndex { if case .shell(Self.lastBeforeKill) = $0 { true } else { false } })
    let shell = try Shell()
    defer { shell.end() }
    let port = try shell.startServer("--data-dir data")
    for step in steps[...middle] { try step.follow(in: shell, nil) }
    try shell.killServer("--data-dir data")
    let page = ConnectingPage(port: port)
    for step in steps[(middle + 1)...] { try step.follow(in: shell, page) }
    try shell.settle()
    let expected = try TourRecord.read(Self.expectation)
    let record = shell.record()
    #expect(record.map(\.line) == expected.map(\.line))
    // What was running has ended with the server, which is seen in its own output and in the numbers of watchers; and a
    // greeting says how the state is kept.
    let told = zip(steps.indices, zip(record, expected)).filter { index, pair in
      let isCut = index <= middle && TourStep.goesOn(pair.0.line)
      return !isCut && !["demand=", "watchers=", "new WebSocket("].contains { pair.0.line.contains($0) }
    }.map(\.1)
    #expect(told.count > 30)
    TourRecord.compare(told.map(\.0), told.map(\.1))
  }
}
