// SPDX-License-Identifier: MIT

/// The latest commits of a store, in parts: one for each share, and one for everything else.
///
/// A commit is in each part that one of its changes belongs to, by the first share whose pattern matches. A client that
/// resumes needs only the parts that its patterns can match, and so is not affected by how full the others are.
package struct History: Sendable {
  /// Commits that no longer fit the limits.
  package struct Dropped: Sendable {
    /// One of them, without an allocation.
    var commit: Commit?
    /// The others.
    var others: [ContiguousArray<Commit>] = []

    /// These and those of another part.
    func with(_ more: Dropped) -> Dropped {
      Dropped(commit: commit, others: others + more.others + (more.commit.map { [[$0]] } ?? []))
    }
  }

  private let shares: [HistoryShare]
  /// One for each share, then the one for everything else.
  private var parts: [HistoryPart]
  /// The revision of the newest commit.
  private(set) var newest: Revision

  /// An empty history, which begins after a revision.
  init(_ limits: StoreLimits, after revision: Revision = 0) {
    shares = limits.history
    let rest = 100 - shares.reduce(0) { $0 + $1.percent }
    parts = (shares.map(\.percent) + [rest]).map { HistoryPart(limits, percent: $0, after: revision) }
    newest = revision
  }

  /// Appends the commit, which is newer than the others, and returns what no longer fits the limits.
  ///
  /// The caller releases that when it no longer holds a lock.
  mutating func append(_ commit: Commit) -> Dropped? {
    newest = commit.revision
    if shares.isEmpty { return parts[0].append(commit) }
    var dropped: Dropped?
    // At most 17 bits: one for each part.
    var filled: UInt32 = 0
    for change in commit {
      let index = shares.firstIndex { $0.pattern.matches(change.path) } ?? shares.count
      guard filled & 1 << index == 0 else { continue }
      filled |= 1 << index
      if let more = parts[index].append(commit) { dropped = dropped?.with(more) ?? more }
    }
    return dropped
  }

  /// Advances to a later revision, up to which no further commits exist.
  mutating func skip(to revision: Revision) { newest = revision }

  /// The earliest revision after which it may be possible to resume, depending on the patterns.
  var floor: Revision { parts.map(\.floor).min() ?? newest }

  /// The commits after the revision with changes that match one of the patterns, and possibly others; nil when some of
  /// them are no longer kept or the revision is in the future.
  ///
  /// - Parameter last: Up to which revision; nil for all.
  func slice(
    after revision: Revision, match patterns: [PathPattern] = [.all], through last: Revision? = nil
  ) -> HistorySlice? {
    let last = min(last ?? newest, newest)
    guard revision <= last else { return nil }
    let needed = parts.indices.filter { index in
      index == shares.count || patterns.contains { shares[index].pattern.overlaps($0) }
    }
    guard needed.allSatisfy({ parts[$0].floor <= revision }) else { return nil }
    return HistorySlice(needed.map { parts[$0].source(after: revision) }, after: revision, through: last)
  }

  /// The number of changes and bytes that are kept, and the time of the oldest commit; nil when there is none.
  var figures: (changes: Int, bytes: Int, begin: Timestamp?) {
    (
      parts.reduce(0) { $0 + $1.changes }, parts.reduce(0) { $0 + $1.bytes },
      parts.lazy.compactMap { $0.chunks.first?.commits.first?.time }.min()
    )
  }

  /// The longest range up to the newest commit in which none is missing.
  var all: HistorySlice {
    let floor = parts.map(\.floor).max() ?? newest
    return HistorySlice(parts.map { $0.source(after: floor) }, after: floor, through: newest)
  }
}

/// A range of the history of a store: every commit after one revision up to another.
///
/// A sequence of commits in the order of their revisions. It keeps its commits alive, so it can be read at any pace.
public struct HistorySlice: Sendable {
  /// The commits of one part from an index on.
  struct Source: Sendable {
    let chunks: ContiguousArray<HistoryPart.Chunk>
    var chunk: Int
    var offset: Int

    /// The next commit; nil after the last.
    var next: Commit? { chunk < chunks.count ? chunks[chunk].commits[offset] : nil }

    mutating func advance() {
      offset += 1
      guard offset == chunks[chunk].commits.count else { return }
      chunk += 1
      offset = 0
    }
  }

  private let sources: [Source]
  /// The revision that the range begins after.
  public let after: Revision
  /// The revision of the last commit, equal to ``after`` when there is none.
  public let through: Revision

  init(_ sources: [Source], after: Revision, through: Revision) {
    self.sources = sources
    self.after = after
    self.through = through
  }
}

extension HistorySlice: Sequence {
  /// Starts at the first commit.
  public func makeIterator() -> Iterator { Iterator(sources: sources, through: through) }

  /// Iterates over the commits; a value, so iteration can be suspended and continued later.
  public struct Iterator: IteratorProtocol, Sendable {
    var sources: [Source]
    let through: Revision

    /// The next commit, or nil after the last.
    public mutating func next() -> Commit? {
      var first: Commit?
      for source in sources {
        if let next = source.next, next.revision < first?.revision ?? Revision(.max) { first = next }
      }
      guard let first, first.revision <= through else { return nil }
      // A commit that is in several parts is returned once.
      for index in sources.indices where sources[index].next?.revision == first.revision { sources[index].advance() }
      return first
    }
  }
}
