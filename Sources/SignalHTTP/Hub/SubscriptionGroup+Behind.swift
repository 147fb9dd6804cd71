// SPDX-License-Identifier: MIT
import SignalStore

/// Members that get bytes of their own: the newest event of each path that they have not been given, told as one
/// undivided unit behind a `gap` (`docs/protocol.md` §4 rule 5).
///
///     members ── the client takes nothing ──▶ behind ── it has taken all, and been given what it missed ──▶ members
///
/// Whoever joins a paced group begins behind, too: of what waits there for the others it has a part from its snapshot.
extension SubscriptionGroup {
  /// From the next event on the member gets its own.
  func fallBehind(_ member: Membership) {
    guard leave(member) else { return }
    add(member, toBehind: true)
    member.waitForRoom()
  }

  /// What the blocked members of a paced group will not be given now is kept for them.
  func keepForBlocked() {
    for place in members.indices.reversed() where members[place].isLate {
      let member = members[place]
      member.keep(pending)
      fallBehind(member)
    }
  }

  /// The client has taken everything, or the time has come: gives the member what it missed; true when there was
  /// something.
  ///
  /// A paced group keeps to its intervals: a member that is early waits for the next with the others.
  func drained(_ member: Membership, on loop: isolated EventLoop) -> Bool {
    // Another of the same client may just have ended it, and with it this one.
    guard member.place != nil else { return false }
    if isInCommit || (isPaced && loop.now < nextFlush) {
      progress.schedule(self, on: loop)
      return false
    }
    let hasMissed = member.hasMissed
    if isPaced { flush(on: loop) } else if catchUp(member, on: loop) { startInterval(on: loop) }
    return hasMissed && !member.hasMissed
  }

  /// Gives a member that can take it what it missed; true when there was something.
  func catchUp(_ member: Membership, on loop: isolated EventLoop) -> Bool {
    guard member.canCatchUp else {
      if member.hasMissed { member.waitForRoom() }
      return false
    }
    let hasMissed = member.hasMissed
    if hasMissed {
      var missed = member.takeMissed()
      var block = FrameBlock(key.wire, epoch: progress.epoch, isCounted: key.isCounted)
      block.append(&missed, member.fellBehindBySlowness ? .slow : .paced, writer)
      let marks = block.takeMarks()
      member.send(block.take(), marks, on: loop)
    }
    rejoin(member)
    return hasMissed
  }

  /// From here on the member gets the group's blocks again, unless some of what is to be routed is older than its
  /// snapshot.
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
  mutating func append(_ conflation: inout Conflation, _ reason: GapReason, _ writer: LiveEventWriter) {
    let (gap, events) = conflation.take()
    if let gap {
      append(resumeAt: events.isEmpty ? gap.to : nil, name: "gap") {
        writer.appendGap(gap, reason, more: !events.isEmpty, to: &$0.bytes)
      }
      beginUnit()
    }
    for seen in events { open(seen.change.revision) { writer.append(seen, to: &$0) } }
    endUnit()
  }
}

/// What all groups of a hub know of it.
final class HubProgress {
  let epoch: Epoch
  /// The last revision whose changes the groups have been given.
  var routed: Revision = 0
  /// Groups that wait for their time.
  private var scheduled: [SubscriptionGroup] = []
  /// Not after the time of the first of them.
  private var earliest = UInt64.max

  init(epoch: Epoch) { self.epoch = epoch }

  /// Sees to it that the group is flushed when its time has come.
  func schedule(_ group: SubscriptionGroup, on loop: isolated EventLoop) {
    guard !group.isScheduled else { return }
    group.isScheduled = true
    scheduled.append(group)
    earliest = min(earliest, group.nextFlush)
    loop.needTurn(at: group.nextFlush)
  }

  /// Takes out the groups whose time has come, but for those that have a part of a commit.
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

/// Bounds of what a hub does and remembers for its subscribers.
struct HubLimits {
  /// Paths of which one subscription with a deadband remembers what was told.
  var deadbandPaths: Int
  /// Bytes kept for one subscription that is behind.
  var conflatedBytes: Int
  /// Evaluations of a filter that cost no more than this are not counted.
  var cheapFilterWork: Int
  /// What the others may cost in a second, for one connection.
  var filterWork: Int
  /// The same for all connections of the loop.
  var loopFilterWork: Int
}
