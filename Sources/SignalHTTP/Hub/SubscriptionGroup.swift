// SPDX-License-Identifier: MIT
import SignalStore

/// The subscribers of one loop whose patterns, filter, options, subscription id and wire are equal: they get the same
/// bytes.
final class SubscriptionGroup {
  struct Key: Hashable {
    let options: SubscriptionOptions
    let id: Int
    let wire: Wire
  }

  let key: Key
  /// The group's place in the hub, and its name in the trie.
  let index: Int
  let writer: LiveEventWriter
  private(set) var members: [Membership] = []
  private var block: FrameBlock
  /// Members that joined at this revision or before it have nothing to get that is older.
  private var newestJoin: Revision = 0
  private var isTouched = false
  /// Set by the hub while it routes one commit.
  var isInCommit = false
  /// When something was last sent, in the loop's time.
  private(set) var lastEvent: UInt64

  init(_ key: Key, index: Int, writer: LiveEventWriter, epoch: Epoch, now: UInt64) {
    self.key = key
    self.index = index
    self.writer = writer
    block = FrameBlock(key.wire, epoch: epoch)
    lastEvent = now
  }

  func join(_ membership: Membership) {
    membership.place = members.count
    members.append(membership)
    newestJoin = max(newestJoin, membership.joinedAt)
  }

  /// Takes a member out; false when it was not in.
  func leave(_ membership: Membership) -> Bool {
    guard let place = membership.place else { return false }
    membership.place = nil
    let last = members.removeLast()
    if last !== membership {
      members[place] = last
      last.place = place
    }
    return true
  }

  /// Writes the event of a change, if the group is to be told of it.
  func append(_ change: inout FilteredChange) -> Bool {
    guard let event = key.options.event(for: &change) else { return false }
    block.open(change.change.revision) { [writer, change = change.change] in writer.append(event, change, to: &$0) }
    return true
  }

  /// Closes a commit's last event; true when the group was not yet among those to deliver to in this turn.
  ///
  /// While a member's snapshot is as new as the commit, or newer, the commit is delivered by itself, without it.
  func endCommit(_ revision: Revision, on loop: isolated EventLoop) -> Bool {
    block.close()
    guard revision <= newestJoin else {
      defer { isTouched = true }
      return !isTouched
    }
    let bytes = block.take()
    lastEvent = loop.now
    for place in members.indices.reversed() where members[place].joinedAt < revision {
      members[place].deliver(bytes, on: loop)
    }
    return false
  }

  /// Gives every member this turn's frames.
  func deliver(on loop: isolated EventLoop) {
    isTouched = false
    lastEvent = loop.now
    let bytes = block.take()
    // Backwards, because one that is too slow leaves, and the last takes its place.
    for place in members.indices.reversed() { members[place].deliver(bytes, on: loop) }
  }

  func sendBookmark(_ revision: Revision, on loop: isolated EventLoop) {
    // A member whose snapshot is newer than what has been routed is told at the next occasion.
    guard revision >= newestJoin else { return }
    block.appendBookmark(revision) { [writer] in writer.appendBookmark(revision, to: &$0) }
    deliver(on: loop)
  }
}
