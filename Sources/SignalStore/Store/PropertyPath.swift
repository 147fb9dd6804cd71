// SPDX-License-Identifier: MIT

/// The address of a property in a store: segments joined by "/", such as `kitchen/temperature`.
///
/// A path is UTF-8. It has no empty segment, no "." and no "..", no control character, and no
/// segment that is a wildcard of ``PathPattern``; ``PathLimits`` bound it. A value of this type
/// always keeps these rules.
///
/// Paths are compared by their bytes, not by Unicode equivalence: "é" in one code point and in two
/// are different paths. In the order of paths "/" ranks below every other byte, so that a property
/// comes right before everything beneath it, and its siblings after: `a` < `a/x` < `a-b`.
public struct PropertyPath: Sendable {
  /// The UTF-8 bytes of the path, separators included.
  public let bytes: [UInt8]

  /// Makes a path from plain text, such as a member of a JSON document or an argument of a command.
  ///
  /// "%" has no meaning here.
  public init(_ string: String, limits: PathLimits = PathLimits()) throws(PathError) {
    try limits.validate(string.utf8.span, wildcards: false)
    bytes = Array(string.utf8)
  }

  /// Makes a path from plain UTF-8 bytes, such as a query parameter that has been form-decoded.
  ///
  /// "%" has no meaning here.
  public init(bytes text: Span<UInt8>, limits: PathLimits = PathLimits()) throws(PathError) {
    try limits.validate(text, wildcards: false)
    // The pointer is read within the closure only.
    bytes = unsafe text.withUnsafeBufferPointer { unsafe Array($0) }
  }

  /// Makes a path from the percent-encoded path of a URL (RFC 3986 §2.1), without a leading "/".
  ///
  /// The rules apply to the decoded text: `%2E%2E` is refused like "..", and `%2F` is a "/", which is how clients
  /// generated from a description of the interface write it; no segment can hold one, so it is unambiguous.
  public init(percentEncoded text: Span<UInt8>, limits: PathLimits = PathLimits()) throws(PathError) {
    let decoded = try limits.percentDecoded(text)
    try limits.validate(decoded.span, wildcards: false)
    bytes = decoded
  }

  init(validated bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The segments from first to last, as slices of ``bytes``; nothing is allocated.
  public var segments: PathSegments { PathSegments(bytes: bytes) }

  /// The number of segments.
  package var depth: Int { bytes.count { $0 == PathOrder.slash } + 1 }

  /// The path of its first segments; itself when it has no more than that.
  ///
  /// - Parameter count: At least 1.
  package func prefix(segments count: Int) -> PropertyPath {
    var left = count
    for index in bytes.indices where bytes[index] == PathOrder.slash {
      left -= 1
      if left == 0 { return PropertyPath(validated: Array(bytes[..<index])) }
    }
    return self
  }

  /// Whether this path begins with all segments of the other, and has more.
  package func isBelow(_ other: PropertyPath) -> Bool {
    bytes.count > other.bytes.count && bytes[other.bytes.count] == PathOrder.slash && bytes.starts(with: other.bytes)
  }
}

extension PropertyPath: Hashable, Comparable {
  /// Whether both have the same bytes.
  public static func == (a: PropertyPath, b: PropertyPath) -> Bool {
    PathOrder.isEqual(a.bytes.span, b.bytes.span)
  }

  /// Whether `a` comes before `b`, "/" ranking below every other byte.
  public static func < (a: PropertyPath, b: PropertyPath) -> Bool {
    PathOrder.isLess(a.bytes.span, b.bytes.span)
  }

  /// Feeds the bytes of the path to the hasher.
  public func hash(into hasher: inout Hasher) {
    // The pointer is read within the closure only; byte by byte would cost ten times as much.
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

extension PropertyPath: CustomStringConvertible, ExpressibleByStringLiteral {
  /// The path as plain text.
  public var description: String { String(decoding: bytes, as: UTF8.self) }

  /// Makes a path from a literal; a literal that is not a path traps.
  public init(stringLiteral text: String) {
    do { try self.init(text) } catch { preconditionFailure("\"\(text)\" is not a path. \(error)") }
  }
}

/// The segments of a path or a pattern, from first to last.
public struct PathSegments: Sequence, Sendable {
  let bytes: [UInt8]

  /// Starts at the first segment.
  public func makeIterator() -> Iterator { Iterator(bytes: bytes) }

  /// Iterates over the segments.
  public struct Iterator: IteratorProtocol, Sendable {
    let bytes: [UInt8]
    var start = 0

    /// The next segment, as a slice of the bytes of the whole, or nil after the last.
    public mutating func next() -> ArraySlice<UInt8>? {
      guard start <= bytes.count, !bytes.isEmpty else { return nil }
      var end = start
      while end < bytes.count, bytes[end] != PathOrder.slash { end += 1 }
      defer { start = end + 1 }
      return bytes[start..<end]
    }
  }
}
