// SPDX-License-Identifier: MIT
import SignalStore

/// Lagging members get bytes of their own: the newest event of each path that they have missed, as one undivided unit
/// after a `gap` (`docs/protocol.md` §4 rule 5).
///
///     members ── the client takes nothing ──▶ lagging ── it has taken all, and been sent what it missed ──▶ members
///
/// A member that joins a paced group begins as lagging, too: its snapshot already contains part of what is pending
/// there.
extension SubscriptionGroup {
  /// Makes a member lag: from the next event on it gets bytes of its own.
  func fallBehind(_ member: Membership) {
    guard leave(member) else { return }
    add(member, toBehind: true)
    member.waitForRoom()
  }

  /// Keeps pending events for the blocked members of a paced group, which are not sent them now.
  func keepForBlocked() {
    for place in members.indices.reversed() where members[place].isLate {
      let member = members[place]
      member.keep(pending)
      fallBehind(member)
    }
  }

  /// The client has taken everything, or the interval is over: sends the member what it missed; true when there was
  /// something.
  ///
  /// A paced group keeps its intervals: a member that is early waits for the next together with the others.
  func drained(_ member: Membership, on loop: isolated EventLoop) -> Bool {
    // Another subscription of the same client may just have ended the client, and with it this one.
    guard member.place != nil else { return false }
    if isInCommit || (isPaced && loop.now < nextFlush) {
      progress.schedule(self, on: loop)
      return false
    }
    let hasMissed = member.hasMissed
    if isPaced { flush(on: loop) } else if catchUp(member, on: loop) { startInterval(on: loop) }
    return hasMissed && !member.hasMissed
  }

  /// Sends a member that can take it what it missed; true when there was something.
  func catchUp(_ member: Membership, on loop: isolated EventLoop) -> Bool {
    guard member.canCatchUp else {
      if member.hasMissed { member.waitForRoom() }
      return false
    }
    let hasMissed = member.hasMissed
    if hasMissed {
      var missed = member.takeMissed()
      var block = FrameBlock(key.wire, epoch: progress.epoch, isCounted: key.isCounted)
      if block.append(&missed, member.fellBehindBySlowness ? .slow : .paced, writer) { member.gaps += 1 }
      loop.counters.count(block.takeEvents(), for: 1)
      let marks = block.takeMarks()
      member.sendOwn(block.take(), marks, on: loop)
    }
    rejoin(member)
    return hasMissed
  }

  /// Moves a member back to the group's blocks, unless some pending changes are older than its snapshot.
  func rejoin(_ member: Membership) {
    guard member.isBehind, member.place != nil, !isPaced || member.joinedAt <= progress.routed else { return }
    guard leave(member) else { return }
    add(member, toBehind: false)
    member.hasCaughtUp()
  }

  /// Ends the members for which too much had to be kept.
  func endOverloaded(on loop: isolated EventLoop) {
    for place in behind.indices.reversed() where behind[place].isOverloaded { behind[place].end(on: loop) }
  }
}

extension FrameBlock {
  /// Writes what was conflated: a gap, when something was left out, and then the newest of each path.
  ///
  /// - Returns: Whether there is a gap.
  @discardableResult mutating func append(
    _ conflation: inout Conflation, _ reason: GapReason, _ writer: LiveEventWriter
  ) -> Bool {
    let (gap, events) = conflation.take()
    if let gap {
      appendGap(resumeAt: events.isEmpty ? gap.to : nil) {
        writer.appendGap(gap, reason, more: !events.isEmpty, to: &$0.bytes)
      }
      beginUnit()
    }
    for seen in events { open(seen.change.revision) { writer.append(seen, to: &$0) } }
    endUnit()
    return gap != nil
  }
}

/// The progress of a hub, shared by its groups.
final class HubProgress {
  let epoch: Epoch
  /// The last revision whose changes have been routed to the groups.
  var routed: Revision = 0
  /// Groups that wait for the end of their interval.
  private var scheduled: [SubscriptionGroup] = []
  /// A lower bound for the earliest of their times.
  private var earliest = UInt64.max

  init(epoch: Epoch) { self.epoch = epoch }

  /// Ensures that the group is flushed at its time.
  func schedule(_ group: SubscriptionGroup, on loop: isolated EventLoop) {
    guard !group.isScheduled else { return }
    group.isScheduled = true
    scheduled.append(group)
    earliest = min(earliest, group.nextFlush)
    loop.needTurn(at: group.nextFlush)
  }

  /// Removes and returns the groups that are due, except those that have been given part of a commit.
  func takeDue(on loop: isolated EventLoop) -> [SubscriptionGroup] {
    let now = loop.now
    guard earliest <= now else { return [] }
    var due: [SubscriptionGroup] = []
    var later: [SubscriptionGroup] = []
    for group in scheduled {
      if group.nextFlush <= now, !group.isInCommit { due.append(group) } else { later.append(group) }
    }
    for group in due { group.isScheduled = false }
    scheduled = later
    earliest = later.map(\.nextFlush).min() ?? .max
    if earliest < .max { loop.needTurn(at: earliest) }
    return due
  }
}

/// Bounds on what a hub does and remembers for its subscribers.
struct HubLimits {
  /// Paths whose last sent value one subscription with a deadband remembers.
  var deadbandPaths: Int
  /// Bytes kept for one lagging subscription.
  var conflatedBytes: Int
  /// Evaluations of a filter that cost no more than this are not counted.
  var cheapFilterWork: Int
  /// What the others may cost per second, for one connection.
  var filterWork: Int
  /// The same for all connections of the loop.
  var loopFilterWork: Int
}
