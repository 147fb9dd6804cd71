// SPDX-License-Identifier: MIT

/// A pattern of which parts have names: `rooms/{room}/**`, `docs/{path=**}`.
package struct CapturePattern: Equatable, Sendable {
  /// Where a capture is in a matching path.
  package enum Place: Equatable, Sendable {
    /// A segment, counted from the beginning.
    case fromStart(Int)
    /// A segment, counted from the end: 0 is the last.
    case fromEnd(Int)
    /// All segments after some at the beginning and before some at the end.
    case between(start: Int, end: Int)
  }

  package let pattern: PathPattern
  /// In the order of the pattern.
  package let captures: [(name: String, place: Place)]
  /// The segments as they were written; the number of the capture in those that are one.
  private let segments: [(text: String, capture: Int?)]
  private let limits: PathLimits

  package static func == (a: CapturePattern, b: CapturePattern) -> Bool {
    a.pattern == b.pattern && a.captures.elementsEqual(b.captures) { $0.name == $1.name && $0.place == $1.place }
  }

  package init(_ text: String, limits: PathLimits) throws(RuleFault) {
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
        throw RuleFault(reason: "'\(segment)' is no capture such as {room} or {rest=**}")
      }
      guard !names.contains(name) else { throw RuleFault(reason: "the capture '\(name)' stands in it twice") }
      segments.append((isAny ? "**" : "*", names.count))
      names.append(name)
    }
    let anyPlaces = segments.indices.filter { segments[$0].text == "**" }
    guard names.isEmpty || anyPlaces.count <= 1 else {
      throw RuleFault(reason: "a pattern with captures has one '**' at most")
    }
    do throws(PathError) {
      pattern = try PathPattern(segments.map(\.text).joined(separator: "/"), limits: limits)
    } catch {
      throw RuleFault(reason: "it is no pattern: \(error)")
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
  package static func isName(_ text: some StringProtocol) -> Bool {
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
  package func segments(_ texts: [String], where capture: Int, is text: String) -> [String]? {
    guard let index = segments.firstIndex(where: { $0.capture == capture }), !text.utf8.contains(UInt8(ascii: "/")),
      (try? PropertyPath(text, limits: limits)) != nil
    else { return nil }
    var texts = texts
    texts[index] = text
    return texts
  }

  /// The segments as they are in the pattern.
  package var texts: [String] { segments.map(\.text) }

  /// Whether a capture stands for one segment.
  package func isSingle(_ capture: Int) -> Bool {
    if case .between = captures[capture].place { false } else { true }
  }

  /// The text of a capture in a path that matches.
  package static func text(at place: Place, of path: PropertyPath) -> String {
    let segments = Array(path.segments)
    switch place {
    case .fromStart(let index): return String(decoding: segments[index], as: UTF8.self)
    case .fromEnd(let index): return String(decoding: segments[segments.count - 1 - index], as: UTF8.self)
    case .between(let start, let end):
      return segments[start..<(segments.count - end)].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }
  }

  /// The pattern of the paths whose captures are those of this one, which matches.
  func pattern(like path: PropertyPath) -> PathPattern? {
    let texts = segments.map { segment in
      segment.capture.map { CapturePattern.text(at: captures[$0].place, of: path) } ?? segment.text
    }
    // A capture of no segment leaves nothing.
    return try? PathPattern(texts.filter { !$0.isEmpty }.joined(separator: "/"), limits: limits)
  }

  /// Appends the captures of a path that matches, with a slash after each: two paths give the same bytes when their
  /// captures are the same.
  func appendCaptures(of path: PropertyPath, to text: inout [UInt8]) {
    let bytes = path.bytes
    for (_, place) in captures {
      let range =
        switch place {
        case .fromStart(let index):
          CapturePattern.start(ofSegment: index, in: bytes)..<CapturePattern.start(ofSegment: index + 1, in: bytes)
        case .fromEnd(let index):
          CapturePattern.start(ofLast: index + 1, in: bytes)..<CapturePattern.start(ofLast: index, in: bytes)
        case .between(let start, let end):
          CapturePattern.start(ofSegment: start, in: bytes)..<CapturePattern.start(ofLast: end, in: bytes)
        }
      // The slash behind it included, except at the end of the path.
      text.append(contentsOf: bytes[range.clamped(to: 0..<bytes.count)])
      if range.upperBound > bytes.count || range.isEmpty { text.append(PathOrder.slash) }
    }
  }

  /// Where the segment of this number begins; behind the end, as if a slash stood there, for the number of segments.
  private static func start(ofSegment number: Int, in bytes: [UInt8]) -> Int {
    var left = number
    var index = 0
    while left > 0, index <= bytes.count {
      if index == bytes.count || bytes[index] == PathOrder.slash { left -= 1 }
      index += 1
    }
    return index
  }

  /// Where the last segments, so many of them, begin.
  private static func start(ofLast number: Int, in bytes: [UInt8]) -> Int {
    var left = number
    var index = bytes.count + 1
    while left > 0, index > 0 {
      index -= 1
      if index == 0 || bytes[index - 1] == PathOrder.slash { left -= 1 }
    }
    return index
  }
}
