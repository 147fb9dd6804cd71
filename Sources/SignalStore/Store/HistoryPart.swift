// SPDX-License-Identifier: MIT

import CPrefetch
import JSON

/// The latest commits of a store, or those that belong to one share, bounded by their number of changes and by the
/// bytes they keep alive.
///
/// The commits are in chunks, and the oldest chunk is dropped as a whole: between 15/16 of a limit and the full limit
/// is kept. A slice shares the chunks, so it is taken in O(log n) and stays valid independently of the part.
///
/// The commits of a dropped chunk are released one by one, with each commit that is appended: the allocator gives the
/// memory of one to the next while it is in the processor's cache, and does not collect that of hundreds.
package struct HistoryPart: Sendable {
  /// Consecutive commits without a gap, oldest first; never empty.
  package struct Chunk: Sendable {
    var commits: ContiguousArray<Commit> = []
    var changes = 0
    var bytes = 0
  }

  /// The commits of the chunk that was dropped last which have not been released yet: at most 1/8 of a limit.
  ///
  /// They were made long ago and are in no cache any more. Of the next ones, as much as the release of their first
  /// change looks at is therefore loaded beforehand, an object and a commit at a time: the object itself says where the next one is.
  private struct Leaving {
    var commits: ContiguousArray<Commit> = []
    /// What is loaded of a commit, of a value, and of the head of an array.
    private static let objectBytes: Int64 = 64
    private static let headBytes: Int64 = 32
    /// What is loaded of a text at most: its memory is that of the next one that is set.
    private static let textBytes = 512

    /// The commit to be released next, the last; nil when there is none left.
    mutating func next() -> Commit? {
      guard let next = commits.popLast() else { return nil }
      let count = commits.count
      if count >= 4 {
        // Addresses are all that is taken of them: what is retained would be loaded, and waited for.
        unsafe cprefetch(Unmanaged.passUnretained(commits[count - 4]).toOpaque(), Self.objectBytes)
        if let old = commits[count - 3].first.old {
          unsafe cprefetch(Unmanaged.passUnretained(old).toOpaque(), Self.objectBytes)
        }
        if let old = commits[count - 2].first.old {
          unsafe cprefetch(unsafeBitCast(old.value.bytes, to: UnsafeRawPointer.self), Self.headBytes)
        }
        if let old = commits[count - 1].first.old {
          let length = Int64(min(old.value.bytes.count, Self.textBytes))
          unsafe cprefetch(unsafeBitCast(old.value.bytes, to: UnsafeRawPointer.self), Self.headBytes + length)
        }
      }
      return next
    }
  }

  private let countLimit: Int
  private let byteLimit: Int
  private(set) var chunks: ContiguousArray<Chunk> = []
  private(set) var changes = 0
  private(set) var bytes = 0
  private var leaving = Leaving()
  /// The revision before the oldest kept commit, and that of the newest commit.
  private(set) var floor: Revision

  /// An empty part, which begins after a revision.
  ///
  /// - Parameter percent: The percentage of the limits that it may use.
  init(_ limits: StoreLimits, percent: Int, after revision: Revision) {
    floor = revision
    countLimit = percent == 100 ? limits.historyChanges : limits.historyChanges / 100 * percent
    byteLimit = percent == 100 ? limits.historyBytes : limits.historyBytes / 100 * percent
  }

  /// Appends the commit, which is newer than the others, and returns some that no longer fit the limits.
  ///
  /// The caller releases them when it no longer holds a lock.
  mutating func append(_ commit: Commit) -> History.Dropped? {
    let cost = HistoryPart.cost(of: commit)
    var dropped = leaving.next().map { History.Dropped(commit: $0) }
    if let last = chunks.last, last.changes < chunkCount, last.bytes < byteLimit / 16 {
      // Continue with the newest chunk.
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
    dropExcess(&dropped)
    return dropped
  }

  /// The commits after the revision, which must not be before ``floor``.
  func source(after revision: Revision) -> HistorySlice.Source {
    // The first chunk whose last commit is after the revision.
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if lastRevision(of: chunks[middle]) <= revision { low = middle + 1 } else { high = middle }
    }
    let offset = low < chunks.count ? HistoryPart.count(in: chunks[low].commits, through: revision) : 0
    return HistorySlice.Source(chunks: chunks, chunk: low, offset: offset)
  }

  private var chunkCount: Int { min(max(countLimit / 16, 1), 256) }

  /// The number of commits up to a revision; some revisions may have no commit, because it was omitted.
  private static func count(in commits: ContiguousArray<Commit>, through revision: Revision) -> Int {
    var low = 0
    var high = commits.count
    while low < high {
      let middle = (low + high) / 2
      if commits[middle].revision <= revision { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func lastRevision(of chunk: Chunk) -> Revision {
    chunk.commits.last?.revision ?? floor
  }

  private mutating func dropExcess(_ dropped: inout History.Dropped?) {
    var excess = 0
    while excess < chunks.count, changes > countLimit || bytes > byteLimit {
      changes -= chunks[excess].changes
      bytes -= chunks[excess].bytes
      floor = lastRevision(of: chunks[excess])
      excess += 1
    }
    guard excess > 0 else { return }
    let newest = chunks[excess - 1]
    // One with a large commit would keep it until the next one comes, perhaps never.
    let isSmall = newest.bytes <= byteLimit / 8
    var others = chunks[..<(isSmall ? excess - 1 : excess)].map(\.commits)
    if !leaving.commits.isEmpty { others.append(leaving.commits) }
    leaving.commits = isSmall ? newest.commits : []
    chunks.removeFirst(excess)
    if !others.isEmpty { dropped = History.Dropped(commit: dropped?.commit, others: others) }
  }

  /// The number of bytes that the commit keeps alive.
  ///
  /// That is the commit and the values it has replaced. The new values are in the store, and as soon as they are
  /// replaced they are counted with the commit that replaced them, which is newer and so is dropped later.
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
