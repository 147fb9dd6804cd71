// SPDX-License-Identifier: MIT

extension PathPattern {
  /// Whether there can be a path that both patterns match.
  ///
  /// Costs what is equal at the beginning of both when one of them has no wildcard behind it, or they differ there;
  /// otherwise the product of their other segments, and allocates.
  package func overlaps(_ other: PathPattern) -> Bool {
    let (ours, theirs) = (bytes.span, other.bytes.span)
    var (our, their) = (0, 0)
    while our <= ours.count, their <= theirs.count {
      let (ourEnd, theirEnd) = (segmentEnd(ours, from: our), segmentEnd(theirs, from: their))
      let (ourKind, theirKind) = (wildcard(ours, our, ourEnd), wildcard(theirs, their, theirEnd))
      guard ourKind != .any, theirKind != .any else {
        // In normal form nothing but a "**" can be without segments, so it is the last.
        if ourKind == .any && ourEnd == ours.count || theirKind == .any && theirEnd == theirs.count { return true }
        return Self.overlap(bytes[our...], other.bytes[their...])
      }
      guard
        ourKind == .one || theirKind == .one
          || PathOrder.isEqual(ours.extracting(our..<ourEnd), theirs.extracting(their..<theirEnd))
      else { return false }
      our = ourEnd + 1
      their = theirEnd + 1
    }
    // What is left of the longer one needs a segment, unless it is a "**".
    return (our > ours.count || wildcard(ours, our, ours.count) == .any)
      && (their > theirs.count || wildcard(theirs, their, theirs.count) == .any)
  }

  private static func overlap(_ our: ArraySlice<UInt8>, _ their: ArraySlice<UInt8>) -> Bool {
    let ours = our.split(separator: PathOrder.slash)
    let theirs = their.split(separator: PathOrder.slash)
    // Whether the remainders of both have a path in common, from the end of theirs to its beginning; starting with an
    // empty remainder of ours.
    var rest = Array(repeating: false, count: theirs.count + 1)
    rest[theirs.count] = true
    for their in theirs.indices.reversed() { rest[their] = rest[their + 1] && Wildcard(theirs[their]) == .any }
    for our in ours.reversed() {
      let ourKind = Wildcard(our)
      var next = rest
      next[theirs.count] = ourKind == .any && rest[theirs.count]
      for their in theirs.indices.reversed() {
        let theirKind = Wildcard(theirs[their])
        if ourKind == .any || theirKind == .any {
          // A "**" ends here, or takes the next segment of the other.
          next[their] =
            (ourKind == .any && (rest[their] || next[their + 1]))
            || (theirKind == .any && (next[their + 1] || rest[their]))
        } else {
          next[their] = rest[their + 1] && (ourKind == .one || theirKind == .one || our == theirs[their])
        }
      }
      rest = next
    }
    return rest[0]
  }

  /// Whether every path that the other pattern matches is one of this, as far as the segments tell; false may also mean
  /// that it takes more to find out.
  ///
  /// Costs their segments up to a "**" of this one; behind it, unless it is the last, the product of their segments, and
  /// allocates.
  package func covers(_ other: PathPattern) -> Bool {
    let (ours, theirs) = (bytes.span, other.bytes.span)
    var (our, their) = (0, 0)
    while our <= ours.count {
      let ourEnd = segmentEnd(ours, from: our)
      let kind = wildcard(ours, our, ourEnd)
      if kind == .any {
        return ourEnd == ours.count || Self.covers(bytes[our...], other.bytes[min(their, theirs.count)...])
      }
      guard their <= theirs.count else { return false }
      let theirEnd = segmentEnd(theirs, from: their)
      switch (kind, wildcard(theirs, their, theirEnd)) {
      case (_, .any), (nil, .one): return false
      case (.one, _): break
      default:
        guard PathOrder.isEqual(ours.extracting(our..<ourEnd), theirs.extracting(their..<theirEnd)) else {
          return false
        }
      }
      our = ourEnd + 1
      their = theirEnd + 1
    }
    return their > theirs.count
  }

  private static func covers(_ our: ArraySlice<UInt8>, _ their: ArraySlice<UInt8>) -> Bool {
    let ours = our.split(separator: PathOrder.slash)
    let theirs = their.split(separator: PathOrder.slash)
    // Whether the remainder of ours covers that of theirs, from the end of ours to its beginning.
    var rest = Array(repeating: false, count: theirs.count + 1)
    rest[theirs.count] = true
    for our in ours.reversed() {
      let kind = Wildcard(our)
      var next = Array(repeating: false, count: theirs.count + 1)
      next[theirs.count] = kind == .any && rest[theirs.count]
      for their in theirs.indices.reversed() {
        next[their] =
          switch (kind, Wildcard(theirs[their])) {
          case (.any, _): rest[their] || next[their + 1]
          case (_, .any): false
          case (.one, _): rest[their + 1]
          case (nil, .one): false
          case (nil, nil): rest[their + 1] && our == theirs[their]
          }
      }
      rest = next
    }
    return rest[0]
  }
}
