// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// Waits until the store has got to a cursor.
protocol CursorWaiter: AnyObject {
  /// It has, or it has not in time.
  func waitIsOver(on loop: isolated EventLoop)
}

/// What waits on one loop until the store has reached a revision that another node of a cluster has told of.
///
/// Without anything that waits it does not observe the store; with something, a commit before the first revision that is
/// awaited costs a load on the thread that applies it.
final class CursorWaits: TurnParticipant {
  /// How long at most: a node that is behind for longer is none to wait for.
  static let patience = Duration.seconds(5)

  private struct Entry {
    let waiter: any CursorWaiter
    let revision: Revision
    /// When it is over, in the time of the loop.
    let deadline: UInt64
  }

  private let store: PropertyStore
  private let awaited: AwaitedRevision
  /// In the order of their deadlines, as all wait equally long.
  private var entries: [Entry] = []
  private var feed: Subscription?

  init(store: PropertyStore, loop: isolated EventLoop) {
    self.store = store
    awaited = AwaitedRevision { [weak loop] in loop?.wake() }
  }

  /// Whether the cursor is of the history of the store.
  func isOfHistory(_ cursor: Cursor) -> Bool { store.present(cursor).epoch == store.epoch }

  /// Whether the store has to get there yet: the cursor is of its history, and ahead of it.
  func isAhead(_ cursor: Cursor) -> Bool {
    isOfHistory(cursor) && store.present(cursor).revision > store.revision
  }

  /// Tells the waiter at the end of the turn in which the store has got there, or when ``patience`` is over.
  func add(_ waiter: any CursorWaiter, until cursor: Cursor, on loop: isolated EventLoop) {
    let deadline = loop.now + Self.patience.nanosecondsClamped
    entries.append(Entry(waiter: waiter, revision: store.present(cursor).revision, deadline: deadline))
    awaited.first = min(awaited.first, store.present(cursor).revision.number)
    if feed == nil { feed = store.changes.subscribe { [awaited] commit in awaited.reach(commit.revision.number) } }
    loop.takePart(self)
    // What came before it was observed is seen in the next turn.
    loop.continueInNextTurn()
    loop.needTurn(at: deadline)
  }

  /// Forgets a waiter, if it waits.
  func remove(_ waiter: any CursorWaiter) { entries.removeAll { $0.waiter === waiter } }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    let revision = store.revision
    if let first = entries.first, revision.number >= awaited.first || first.deadline <= loop.now {
      let done = entries.filter { $0.revision <= revision || $0.deadline <= loop.now }
      entries.removeAll { $0.revision <= revision || $0.deadline <= loop.now }
      for entry in done { entry.waiter.waitIsOver(on: loop) }
      awaited.first = entries.lazy.map(\.revision.number).min() ?? .max
    }
    if let first = entries.first {
      loop.needTurn(at: first.deadline)
      return true
    }
    awaited.first = .max
    feed?.cancel()
    feed = nil
    return false
  }
}

/// Wakes a loop when the first of the revisions that it waits for is there; used from any thread.
private final class AwaitedRevision: Sendable {
  private let number = Atomic<UInt64>(.max)
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  var first: UInt64 {
    get { number.load(ordering: .acquiring) }
    set { number.store(newValue, ordering: .releasing) }
  }

  func reach(_ revision: UInt64) { if revision >= first { wake() } }
}
