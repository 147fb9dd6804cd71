// SPDX-License-Identifier: MIT

/// The latest commits of a store, in parts: one for each share, and one for all else.
///
/// A commit is in each part that one of its changes belongs to, by the first share whose pattern matches. Whoever resumes
/// needs the parts that what is watched can be in, and so is not concerned by how full the others are.
package struct History: Sendable {
  /// What no longer has room.
  package typealias Dropped = [ContiguousArray<HistoryPart.Chunk>]

  private let shares: [HistoryShare]
  /// One for each share, and that for all else, the last.
  private var parts: [HistoryPart]
  /// The revision of the newest commit.
  private(set) var newest: Revision

  /// A history without commits, of what comes after a revision.
  init(_ limits: StoreLimits, after revision: Revision = 0) {
    shares = limits.history
    let rest = 100 - shares.reduce(0) { $0 + $1.percent }
    parts = (shares.map(\.percent) + [rest]).map { HistoryPart(limits, percent: $0, after: revision) }
    newest = revision
  }

  /// Appends the commit, which is newer than the others, and returns what no longer has room.
  ///
  /// The caller lets go of it when it no longer holds a lock.
  mutating func append(_ commit: Commit) -> Dropped? {
    newest = commit.revision
    if shares.isEmpty { return parts[0].append(commit).map { [$0] } }
    var dropped: Dropped = []
    // Of 17 bits at most.
    var filled: UInt32 = 0
    for change in commit {
      let index = shares.firstIndex { $0.pattern.matches(change.path) } ?? shares.count
      guard filled & 1 << index == 0 else { continue }
      filled |= 1 << index
      if let chunks = parts[index].append(commit) { dropped.append(chunks) }
    }
    return dropped.isEmpty ? nil : dropped
  }

  /// There are no commits up to this revision that were not appended.
  mutating func skip(to revision: Revision) { newest = revision }

  /// The revision after which somebody may be able to resume, who watches something.
  var floor: Revision { parts.map(\.floor).min() ?? newest }

  /// The commits after the revision with changes that match one of the patterns, and others; nil when some of them are
  /// not kept or it is in the future.
  func slice(after revision: Revision, match patterns: [PathPattern] = [.all]) -> HistorySlice? {
    guard revision <= newest else { return nil }
    let needed = parts.indices.filter { index in
      index == shares.count || patterns.contains { shares[index].pattern.overlaps($0) }
    }
    guard needed.allSatisfy({ parts[$0].floor <= revision }) else { return nil }
    return HistorySlice(needed.map { parts[$0].source(after: revision) }, after: revision, through: newest)
  }

  /// All commits from which on nothing is missing.
  var all: HistorySlice {
    let floor = parts.map(\.floor).max() ?? newest
    return HistorySlice(parts.map { $0.source(after: floor) }, after: floor, through: newest)
  }
}

/// A stretch of the history of a store: every commit after one revision up to another.
///
/// A sequence of commits in the order of their revisions. It keeps what it holds alive, so it can
/// be read at leisure.
public struct HistorySlice: Sendable {
  /// The commits of one part from a place on.
  struct Source: Sendable {
    let chunks: ContiguousArray<HistoryPart.Chunk>
    var chunk: Int
    var offset: Int

    /// The next commit; nil behind the last.
    var next: Commit? { chunk < chunks.count ? chunks[chunk].commits[offset] : nil }

    mutating func advance() {
      offset += 1
      guard offset == chunks[chunk].commits.count else { return }
      chunk += 1
      offset = 0
    }
  }

  private let sources: [Source]
  /// The revision the stretch begins after.
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
  public func makeIterator() -> Iterator { Iterator(sources: sources) }

  /// Hands out one commit after the other; a value that can be put aside in between.
  public struct Iterator: IteratorProtocol, Sendable {
    var sources: [Source]

    /// The next commit, or nil after the last.
    public mutating func next() -> Commit? {
      var first: Commit?
      for source in sources {
        if let next = source.next, next.revision < first?.revision ?? Revision(.max) { first = next }
      }
      guard let first else { return nil }
      // One that is in several parts is given once.
      for index in sources.indices where sources[index].next?.revision == first.revision { sources[index].advance() }
      return first
    }
  }
}
