// SPDX-License-Identifier: MIT

import JSON

/// The latest commits of a store, bounded by their number of changes and by the bytes they keep
/// alive.
///
/// The commits are in chunks, and the oldest chunk is dropped as a whole: about 15/16 of a limit
/// to all of it is kept. A slice shares the chunks, so it is taken in O(log n) and then belongs to
/// whoever took it.
package struct History: Sendable {
  /// Commits without a hole between them, oldest first; never empty.
  package struct Chunk: Sendable {
    var commits: ContiguousArray<Commit> = []
    var changes = 0
    var bytes = 0
  }

  /// What no longer has room.
  package typealias Dropped = ContiguousArray<Chunk>

  private let countLimit: Int
  private let byteLimit: Int
  private var chunks: ContiguousArray<Chunk> = []
  private var changes = 0
  private var bytes = 0
  /// The revision before the oldest commit that is kept, and that of the newest commit.
  private var floor: Revision
  private(set) var newest: Revision

  /// A history without commits, of what comes after a revision.
  init(_ limits: StoreLimits, after revision: Revision = 0) {
    floor = revision
    newest = revision
    countLimit = limits.historyChanges
    byteLimit = limits.historyBytes
  }

  /// Appends the commit, whose revision is the next, and returns the chunks that no longer have
  /// room.
  ///
  /// The caller lets go of them when it no longer holds a lock.
  mutating func append(_ commit: Commit) -> Dropped? {
    let cost = History.cost(of: commit)
    newest = commit.revision
    if let last = chunks.last, last.changes < chunkCount, last.bytes < byteLimit / 16 {
      // Goes on with the newest chunk.
    } else {
      chunks.append(Chunk())
      chunks[chunks.count - 1].commits.reserveCapacity(chunkCount)
    }
    let last = chunks.count - 1
    chunks[last].commits.append(commit)
    chunks[last].changes += commit.count
    chunks[last].bytes += cost
    changes += commit.count
    bytes += cost
    return dropExcess()
  }

  /// The commits after the revision, nil when some of them are not kept or it is in the future.
  func slice(after revision: Revision) -> HistorySlice? {
    guard revision >= floor, revision <= newest else { return nil }
    // The first chunk whose last commit is after the revision.
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if lastRevision(of: chunks[middle]) <= revision { low = middle + 1 } else { high = middle }
    }
    var offset = 0
    if low < chunks.count { offset = History.count(in: chunks[low].commits, through: revision) }
    return HistorySlice(chunks: chunks, chunk: low, offset: offset, after: revision, through: newest)
  }

  /// All commits that are kept.
  var all: HistorySlice { HistorySlice(chunks: chunks, chunk: 0, offset: 0, after: floor, through: newest) }

  private var chunkCount: Int { min(max(countLimit / 16, 1), 256) }

  /// How many of the commits are up to a revision; some revisions may be of commits that were omitted.
  private static func count(in commits: ContiguousArray<Commit>, through revision: Revision) -> Int {
    var low = 0
    var high = commits.count
    while low < high {
      let middle = (low + high) / 2
      if commits[middle].revision <= revision { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// There are no commits up to this revision that were not appended.
  mutating func skip(to revision: Revision) { newest = revision }

  private func lastRevision(of chunk: Chunk) -> Revision {
    chunk.commits.last?.revision ?? newest
  }

  private mutating func dropExcess() -> Dropped? {
    var excess = 0
    while excess < chunks.count, changes > countLimit || bytes > byteLimit {
      changes -= chunks[excess].changes
      bytes -= chunks[excess].bytes
      floor = lastRevision(of: chunks[excess])
      excess += 1
    }
    guard excess > 0 else { return nil }
    let dropped = ContiguousArray(chunks[..<excess])
    chunks.removeFirst(excess)
    return dropped
  }

  /// What the commit keeps alive, in bytes.
  ///
  /// That is the commit and the values it has displaced. The new values are in the store, and as
  /// soon as they are displaced they are counted with the commit that did it, which is newer and so
  /// is dropped later.
  private static func cost(of commit: Commit) -> Int {
    // The sizes of the objects, their headers and what the allocator adds.
    let block = 48
    var cost = 96
    for change in commit {
      if let old = change.old { cost += 64 + 2 * block + old.value.bytes.count + old.path.bytes.count }
    }
    if commit.count > 1 { cost += block + (commit.count - 1) * MemoryLayout<Change>.stride }
    return cost
  }
}

/// A stretch of the history of a store: every commit after one revision up to another.
///
/// A sequence of commits in the order of their revisions. It keeps what it holds alive, so it can
/// be read at leisure.
public struct HistorySlice: Sendable {
  private let chunks: ContiguousArray<History.Chunk>
  private let chunk: Int
  private let offset: Int
  /// The revision the stretch begins after.
  public let after: Revision
  /// The revision of the last commit, equal to ``after`` when there is none.
  public let through: Revision

  init(chunks: ContiguousArray<History.Chunk>, chunk: Int, offset: Int, after: Revision, through: Revision) {
    self.chunks = chunks
    self.chunk = chunk
    self.offset = offset
    self.after = after
    self.through = through
  }
}

extension HistorySlice: Sequence {
  /// Starts at the first commit.
  public func makeIterator() -> Iterator { Iterator(chunks: chunks, chunk: chunk, offset: offset) }

  /// Hands out one commit after the other; a value that can be put aside in between.
  public struct Iterator: IteratorProtocol, Sendable {
    let chunks: ContiguousArray<History.Chunk>
    var chunk: Int
    var offset: Int

    /// The next commit, or nil after the last.
    public mutating func next() -> Commit? {
      guard chunk < chunks.count else { return nil }
      let commit = chunks[chunk].commits[offset]
      offset += 1
      if offset == chunks[chunk].commits.count {
        chunk += 1
        offset = 0
      }
      return commit
    }
  }
}
