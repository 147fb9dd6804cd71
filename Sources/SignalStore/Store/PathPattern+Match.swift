// SPDX-License-Identifier: MIT

// Both walks go through path and pattern segment by segment. A position is the index at which a
// segment begins; a position past the count means that no segment is left.

extension PathPattern {
  /// Whether the pattern matches the path with these bytes.
  func matches(_ path: Span<UInt8>) -> Bool {
    let pattern = bytes.span
    guard let firstWildcard else { return PathOrder.isEqual(pattern, path) }
    if firstWildcard > 0 {
      let prefix = firstWildcard - 1
      guard PathOrder.commonPrefix(pattern, path) >= prefix, path.count == prefix || path[prefix] == PathOrder.slash
      else { return false }
    }
    var pathStart = firstWildcard
    var patternStart = firstWildcard
    // Where to continue when the match fails. Only the last "**" is ever retried, because whatever an earlier one could
    // still match, the last one can match as well. This keeps the walk quadratic at worst.
    var retry: (path: Int, pattern: Int)?
    while pathStart <= path.count {
      if patternStart <= pattern.count {
        let patternEnd = segmentEnd(pattern, from: patternStart)
        let wildcard = wildcard(pattern, patternStart, patternEnd)
        if wildcard == .any {
          if patternEnd == pattern.count { return true }
          patternStart = patternEnd + 1
          retry = (pathStart, patternStart)
          continue
        }
        let pathEnd = segmentEnd(path, from: pathStart)
        if wildcard == .one
          || PathOrder.isEqual(
            pattern.extracting(patternStart..<patternEnd), path.extracting(pathStart..<pathEnd))
        {
          patternStart = patternEnd + 1
          pathStart = pathEnd + 1
          continue
        }
      }
      guard let last = retry else { return false }
      pathStart = segmentEnd(path, from: last.path) + 1
      patternStart = last.pattern
      retry = (pathStart, patternStart)
    }
    // Only a "**" may be left of the pattern; in normal form it is the last segment.
    return patternStart > pattern.count || wildcard(pattern, patternStart, pattern.count) == .any
  }

  /// Where a scan in path order continues to find the next match.
  enum Step: Equatable {
    /// At the next path.
    case next
    /// At the first path that is not before the bound.
    case seek
    /// Nowhere: no later path matches.
    case end
  }

  /// Finds where the next match after `path` can be, and writes the bound of a ``Step/seek``.
  ///
  /// No path between `path` and the bound matches.
  func step(after path: Span<UInt8>, bound: inout [UInt8]) -> Step {
    let pattern = bytes.span
    var pathStart = 0
    var patternStart = 0
    // The end of the segment matched by the last "*": a path that is past the pattern can match again only by changing
    // that segment, or one matched by an earlier "*".
    var lastFree: Int?
    while patternStart <= pattern.count {
      let patternEnd = segmentEnd(pattern, from: patternStart)
      let wildcard = wildcard(pattern, patternStart, patternEnd)
      if wildcard == .any { return .next }
      if pathStart > path.count {
        if wildcard == .one { return .next }
        write(path, upTo: path.count, to: &bound)
        bound.append(PathOrder.slash)
        appendLiterals(from: patternStart, to: &bound)
        return .seek
      }
      let pathEnd = segmentEnd(path, from: pathStart)
      let segment = path.extracting(pathStart..<pathEnd)
      let wanted = pattern.extracting(patternStart..<patternEnd)
      if wildcard == .one {
        lastFree = pathEnd
      } else if !PathOrder.isEqual(segment, wanted) {
        if !PathOrder.isLess(segment, wanted) { break }
        write(path, upTo: pathStart, to: &bound)
        appendLiterals(from: patternStart, to: &bound)
        return .seek
      }
      pathStart = pathEnd + 1
      patternStart = patternEnd + 1
    }
    // Nothing beneath the last free segment matches any more.
    guard let lastFree else { return .end }
    write(path, upTo: lastFree, to: &bound)
    bound.append(PathOrder.afterSubtree)
    return .seek
  }

  func segmentEnd(_ text: Span<UInt8>, from start: Int) -> Int {
    var end = start
    while end < text.count, text[end] != PathOrder.slash { end &+= 1 }
    return end
  }

  func wildcard(_ pattern: Span<UInt8>, _ start: Int, _ end: Int) -> Wildcard? {
    guard end - start <= 2, start < end, pattern[start] == UInt8(ascii: "*") else { return nil }
    if end - start == 1 { return .one }
    return pattern[start + 1] == UInt8(ascii: "*") ? .any : nil
  }

  private func write(_ path: Span<UInt8>, upTo end: Int, to bound: inout [UInt8]) {
    bound.removeAll(keepingCapacity: true)
    // The pointer is read within the closure only.
    unsafe path.extracting(0..<end).withUnsafeBufferPointer { unsafe bound.append(contentsOf: $0) }
  }

  /// Appends the segments from `start` up to the next wildcard.
  private func appendLiterals(from start: Int, to bound: inout [UInt8]) {
    let pattern = bytes.span
    var end = segmentEnd(pattern, from: start)
    while end < pattern.count {
      let next = segmentEnd(pattern, from: end + 1)
      if wildcard(pattern, end + 1, next) != nil { break }
      end = next
    }
    bound.append(contentsOf: bytes[start..<end])
  }
}
