// SPDX-License-Identifier: MIT

/// A set of paths, written like a path in which "*" stands for any one segment and "**" for any
/// number of segments, including none.
///
///     kitchen/temperature      that property alone
///     kitchen/*                every property directly beneath kitchen
///     kitchen/**               kitchen and everything beneath it
///     **/temperature           every property of that name, at any depth
///
/// A wildcard is a whole segment; a "*" inside a segment (`a*b`) is an ordinary character. Two
/// patterns that match the same paths are equal: `a/**/**` is kept as `a/**`, and `a/**/*` as `a/*/**`.
///
/// Matching compares at most ``PathLimits/depth`` × ``PathLimits/depth`` segments, whatever the
/// pattern, and does not allocate.
public struct PathPattern: Sendable, Hashable {
  /// The UTF-8 bytes of the pattern, separators included.
  public let bytes: [UInt8]

  /// Where the first wildcard segment begins in ``bytes``, or nil without one.
  let firstWildcard: Int?

  /// The pattern `**`, which every path matches.
  public static let all = PathPattern(validated: Array("**".utf8))

  /// Makes a pattern from plain text, such as a member of a JSON document.
  public init(_ string: String, limits: PathLimits = PathLimits()) throws(PathError) {
    try limits.validate(string.utf8.span, wildcards: true)
    self.init(validated: Array(string.utf8))
  }

  /// Makes a pattern from plain UTF-8 bytes, such as a query parameter that has been form-decoded.
  public init(bytes text: Span<UInt8>, limits: PathLimits = PathLimits()) throws(PathError) {
    try limits.validate(text, wildcards: true)
    // The pointer is read within the closure only.
    self.init(validated: unsafe text.withUnsafeBufferPointer { unsafe Array($0) })
  }

  /// Makes the pattern that only this path matches.
  public init(_ path: PropertyPath) {
    bytes = path.bytes
    firstWildcard = nil
  }

  private init(validated text: [UInt8]) {
    var normal: [UInt8] = []
    normal.reserveCapacity(text.count)
    var firstWildcard: Int?
    var pendingAny = false
    func append(_ segment: ArraySlice<UInt8>) {
      if !normal.isEmpty { normal.append(PathOrder.slash) }
      if firstWildcard == nil, Wildcard(segment) != nil { firstWildcard = normal.count }
      normal.append(contentsOf: segment)
    }
    // In a run of wildcards only the number of "*" matters and whether there is a "**": it moves
    // to the end of the run.
    for segment in PathSegments(bytes: text) {
      switch Wildcard(segment) {
      case .any: pendingAny = true
      case .one: append(segment)
      case nil:
        if pendingAny { append(Wildcard.any.text) }
        pendingAny = false
        append(segment)
      }
    }
    if pendingAny { append(Wildcard.any.text) }
    // No path is empty, so here the "*" is redundant.
    if normal == Array("*/**".utf8) { normal = Array("**".utf8) }
    bytes = normal
    self.firstWildcard = firstWildcard
  }

  /// Whether the pattern has no wildcard, and so matches one path.
  public var isLiteral: Bool { firstWildcard == nil }

  /// The segments before the first wildcard: every match is this path or beneath it.
  ///
  /// Nil when the pattern begins with a wildcard.
  public var literalPrefix: PropertyPath? {
    guard let firstWildcard else { return PropertyPath(validated: bytes) }
    return firstWildcard == 0 ? nil : PropertyPath(validated: Array(bytes[..<(firstWildcard - 1)]))
  }

  /// The segments from first to last, as slices of ``bytes``; nothing is allocated.
  public var segments: PathSegments { PathSegments(bytes: bytes) }

  /// Whether the pattern matches the path.
  public func matches(_ path: PropertyPath) -> Bool {
    matches(path.bytes.span)
  }
}

extension PathPattern: CustomStringConvertible, ExpressibleByStringLiteral {
  /// The pattern as plain text, its runs of wildcards in the form described above.
  public var description: String { String(decoding: bytes, as: UTF8.self) }

  /// Makes a pattern from a literal; a literal that is not a pattern traps.
  public init(stringLiteral text: String) {
    do { try self.init(text) } catch { preconditionFailure("\"\(text)\" is not a pattern. \(error)") }
  }

  /// Whether both match the same paths.
  public static func == (a: PathPattern, b: PathPattern) -> Bool {
    PathOrder.isEqual(a.bytes.span, b.bytes.span)
  }

  /// Feeds the bytes of the pattern to the hasher.
  public func hash(into hasher: inout Hasher) {
    // The pointer is read within the closure only.
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

/// A wildcard segment of a pattern.
enum Wildcard {
  /// "*": exactly one segment.
  case one
  /// "**": any number of segments.
  case any

  init?(_ segment: ArraySlice<UInt8>) {
    guard segment.first == UInt8(ascii: "*"), segment.last == UInt8(ascii: "*") else { return nil }
    switch segment.count {
    case 1: self = .one
    case 2: self = .any
    default: return nil
    }
  }

  var text: ArraySlice<UInt8> {
    switch self {
    case .one: [UInt8(ascii: "*")]
    case .any: [UInt8(ascii: "*"), UInt8(ascii: "*")]
    }
  }
}
