// SPDX-License-Identifier: MIT

extension PathPattern {
  /// Whether there can be a path that both patterns match.
  ///
  /// Costs the product of their segments, and allocates.
  package func overlaps(_ other: PathPattern) -> Bool {
    let ours = PathSegments(bytes: bytes).map { Array($0) }
    let theirs = PathSegments(bytes: other.bytes).map { Array($0) }
    // Whether the remainders of both have a path in common, from the end of theirs to its beginning; starting with an
    // empty remainder of ours.
    var rest = Array(repeating: false, count: theirs.count + 1)
    rest[theirs.count] = true
    for their in theirs.indices.reversed() { rest[their] = rest[their + 1] && Wildcard(theirs[their][...]) == .any }
    for our in ours.reversed() {
      let ourKind = Wildcard(our[...])
      var next = rest
      next[theirs.count] = ourKind == .any && rest[theirs.count]
      for their in theirs.indices.reversed() {
        let theirKind = Wildcard(theirs[their][...])
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
  /// Costs the product of their segments, and allocates.
  package func covers(_ other: PathPattern) -> Bool {
    let ours = PathSegments(bytes: bytes).map { Array($0) }
    let theirs = PathSegments(bytes: other.bytes).map { Array($0) }
    // Whether the remainder of ours covers that of theirs, from the end of ours to its beginning.
    var rest = Array(repeating: false, count: theirs.count + 1)
    rest[theirs.count] = true
    for our in ours.reversed() {
      let kind = Wildcard(our[...])
      var next = Array(repeating: false, count: theirs.count + 1)
      next[theirs.count] = kind == .any && rest[theirs.count]
      for their in theirs.indices.reversed() {
        next[their] =
          switch (kind, Wildcard(theirs[their][...])) {
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
