// SPDX-License-Identifier: MIT
import SignalStore

/// What the hub needs of a connection: something that takes finished bytes.
protocol Subscriber: AnyObject {
  /// Bytes that may wait while the socket takes nothing.
  var highWaterMark: Int { get }
  /// The socket takes nothing at the moment, and more than the high-water mark waits.
  var isOverloaded: Bool { get }
  func deliver(_ block: [UInt8], on loop: isolated EventLoop)
  /// Ends the subscriber, telling it from where to resume (rule 5); see ``Membership/reached(settled:)``.
  func tooSlow(on loop: isolated EventLoop)
}

/// One subscription of one connection: a member of its group, with its own beginning.
///
/// While the beginning (snapshot or missed changes) is being sent, piece by piece as the socket takes it, the group's
/// blocks wait here, within the high-water mark.
final class Membership {
  let group: SubscriptionGroup
  /// Where in the group's members, while in.
  var place: Int?
  /// The revision of the beginning: the group's events up to it are not for this member.
  let joinedAt: Revision
  /// Whether a given cursor could be resumed from; nil when none was given.
  let recovered: Bool?
  private unowned let subscriber: any Subscriber
  private let backlogLimit: Int
  private var replay: Replay?
  private var waiting: [[UInt8]] = []
  private var waitingBytes = 0

  init(group: SubscriptionGroup, subscriber: any Subscriber, replay: Replay) {
    self.group = group
    self.subscriber = subscriber
    self.replay = replay
    backlogLimit = subscriber.highWaterMark
    joinedAt = replay.position
    recovered = replay.recovered
  }

  /// Whether the beginning is still being sent: call `proceed` when the socket has taken what it was given.
  var isReplaying: Bool { replay != nil }

  /// Sends the next piece of the beginning; behind its last one, what has waited.
  func proceed(on loop: isolated EventLoop) {
    guard replay != nil else { return }
    let isDone = replay?.nextPiece { subscriber.deliver($0, on: loop) } ?? true
    guard isDone else { return }
    replay = nil
    let blocks = waiting
    waiting = []
    waitingBytes = 0
    for block in blocks { subscriber.deliver(block, on: loop) }
  }

  /// Up to where the subscriber has been given everything, so that it can resume from there; nil while a snapshot is
  /// under way, of which no part is worth anything.
  ///
  /// - Parameter settled: Up to where the groups have been given everything.
  func reached(settled: Revision) -> Revision? {
    if let replay { return replay.reached }
    return max(settled, joinedAt)
  }

  /// Takes a block of the group; when it is one too many, the subscriber is ended.
  func deliver(_ block: [UInt8], on loop: isolated EventLoop) {
    if replay == nil {
      if !subscriber.isOverloaded { return subscriber.deliver(block, on: loop) }
    } else if waitingBytes <= backlogLimit {
      waiting.append(block)
      waitingBytes += block.count
      return
    }
    subscriber.tooSlow(on: loop)
  }
}
