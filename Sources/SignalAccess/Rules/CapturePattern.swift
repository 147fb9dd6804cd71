// SPDX-License-Identifier: MIT

import SignalStore

/// A pattern of which parts have names: `rooms/{room}/**`, `docs/{path=**}`.
struct CapturePattern: Equatable, Sendable {
  /// Where a capture is in a matching path.
  enum Place: Equatable, Sendable {
    /// A segment, counted from the beginning.
    case fromStart(Int)
    /// A segment, counted from the end: 0 is the last.
    case fromEnd(Int)
    /// All segments after some at the beginning and before some at the end.
    case between(start: Int, end: Int)
  }

  let pattern: PathPattern
  /// In the order of the pattern.
  let captures: [(name: String, place: Place)]
  /// The segments as they were written; the number of the capture in those that are one.
  private let segments: [(text: String, capture: Int?)]
  private let limits: PathLimits

  static func == (a: CapturePattern, b: CapturePattern) -> Bool {
    a.pattern == b.pattern && a.captures.elementsEqual(b.captures) { $0.name == $1.name && $0.place == $1.place }
  }

  init(_ text: String, limits: PathLimits) throws(AccessFault) {
    var segments: [(text: String, capture: Int?)] = []
    var names: [String] = []
    for segment in text.split(separator: "/", omittingEmptySubsequences: false) {
      guard segment.first == "{", segment.last == "}" else {
        segments.append((String(segment), nil))
        continue
      }
      let inner = segment.dropFirst().dropLast()
      let isAny = inner.hasSuffix("=**")
      let name = String(isAny ? inner.dropLast(3) : inner)
      guard CapturePattern.isName(name) else {
        throw AccessFault(description: "'\(segment)' is no capture such as {room} or {rest=**}")
      }
      guard !names.contains(name) else { throw AccessFault(description: "the capture '\(name)' stands in it twice") }
      segments.append((isAny ? "**" : "*", names.count))
      names.append(name)
    }
    let anyPlaces = segments.indices.filter { segments[$0].text == "**" }
    guard names.isEmpty || anyPlaces.count <= 1 else {
      throw AccessFault(description: "a pattern with captures has one '**' at most")
    }
    do throws(PathError) {
      pattern = try PathPattern(segments.map(\.text).joined(separator: "/"), limits: limits)
    } catch {
      throw AccessFault(description: "it is no pattern: \(error)")
    }
    captures = segments.enumerated().compactMap { index, segment in
      guard let capture = segment.capture else { return nil }
      let place: Place =
        if segment.text == "**" {
          .between(start: index, end: segments.count - 1 - index)
        } else if let any = anyPlaces.first, any < index {
          .fromEnd(segments.count - 1 - index)
        } else {
          .fromStart(index)
        }
      return (names[capture], place)
    }
    self.segments = segments
    self.limits = limits
  }

  /// Letters, digits and underscores, as names of the expression language.
  static func isName(_ text: some StringProtocol) -> Bool {
    guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }

  /// The segments in which a capture of one segment is this text; nil when no path has such a segment.
  ///
  /// - Parameter texts: The segments of the pattern, in which other captures may have been replaced already.
  func segments(_ texts: [String], where capture: Int, is text: String) -> [String]? {
    guard let index = segments.firstIndex(where: { $0.capture == capture }), !text.utf8.contains(UInt8(ascii: "/")),
      (try? PropertyPath(text, limits: limits)) != nil
    else { return nil }
    var texts = texts
    texts[index] = text
    return texts
  }

  /// The segments as they are in the pattern.
  var texts: [String] { segments.map(\.text) }

  /// Whether a capture stands for one segment.
  func isSingle(_ capture: Int) -> Bool {
    if case .between = captures[capture].place { false } else { true }
  }

  /// The text of a capture in a path that matches.
  static func text(at place: Place, of path: PropertyPath) -> String {
    let segments = Array(path.segments)
    switch place {
    case .fromStart(let index): return String(decoding: segments[index], as: UTF8.self)
    case .fromEnd(let index): return String(decoding: segments[segments.count - 1 - index], as: UTF8.self)
    case .between(let start, let end):
      return segments[start..<(segments.count - end)].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }
  }
}
