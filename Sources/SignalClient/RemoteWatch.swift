// SPDX-License-Identifier: MIT

public import SignalStore
public import Signals
import Synchronization

/// All properties that match, as they are on the server, and their changes; made by ``RemoteStore/watch(_:_:onChange:)``.
///
/// It changes at revisions only: a snapshot, a transaction, or what belongs to a gap is there as a whole or not at all.
/// It is kept up to date as long as it is kept.
public final class RemoteWatch: Sendable {
  /// Its store, which is kept.
  public let store: RemoteStore
  private let session: RemoteSession
  private let sent = Signal<[RemoteChange]>()
  private let feed = Property(RemoteState.connecting, skipsEqual: true)
  private let owner: WatchOwner
  private let subscription: RemoteSubscription

  init(
    _ store: RemoteStore, _ session: RemoteSession, _ command: [UInt8], hasFilter: Bool, initial: Bool, take: Int?,
    onChange: (@Sendable ([RemoteChange]) -> Void)?
  ) {
    self.store = store
    self.session = session
    owner = WatchOwner(changes: sent, feed: feed, onChange: onChange)
    let subscription = RemoteSubscription(command, hasFilter: hasFilter, initial: initial, take: take, owner: owner)
    self.subscription = subscription
    session.put(.call { session, loop in session.add(subscription, on: loop) })
  }

  deinit { cancel() }

  /// Everything that matches, by path.
  public var entries: [PropertyPath: RemoteEntry] { subscription.shown.withLock { $0.known } }

  /// One property; nil when there is none, or it does not match.
  public subscript(path: PropertyPath) -> RemoteEntry? { subscription.entry(path) }

  /// Sends the changes of each revision, after ``entries`` has them.
  public var changes: DerivedSignal<[RemoteChange], Never> { sent.readOnly }

  /// `connecting` while nothing is known, `live`, `stale` when it was so as the connection was lost, and `closed` when it is
  /// over.
  public var state: DerivedProperty<RemoteState> { feed.readOnly }

  /// Why it ended, when nobody asked for it.
  public var error: RemoteError? { subscription.shown.withLock { $0.error } }

  /// How many events the server left out, because of a pace or because they were not taken.
  public var leftOut: Int { subscription.shown.withLock { Int(clamping: $0.leftOut) } }

  /// Waits until it is live, or has had all the events that it was to take.
  ///
  /// - Throws: ``RemoteError`` when the server refuses it, `closed` when it was ended here, and `cancelled` when the task was.
  public func ready() async throws(RemoteError) {
    for await state in feed.values() {
      if state == .live { return }
      if state == .closed { break }
    }
    let (error, isComplete) = subscription.shown.withLock { ($0.error, $0.isComplete) }
    if let error { throw error }
    if isComplete { return }
    throw feed.value == .closed
      ? RemoteError("closed", "the watch was ended") : RemoteError("cancelled", "the task was cancelled")
  }

  /// Ends it; what it has shown stays.
  public func cancel() { session.put(.call { [subscription] session, loop in session.remove(subscription, on: loop) }) }
}

/// Signals of a server, as they are sent; made by ``RemoteStore/listen(_:_:onMessage:)``.
///
/// What is sent while there is no connection is gone. It listens as long as it is kept.
public final class RemoteListener: Sendable {
  /// Its store, which is kept.
  public let store: RemoteStore
  private let session: RemoteSession
  private let sent = Signal<RemoteMessage>()
  private let feed = Property(RemoteState.connecting, skipsEqual: true)
  private let owner: WatchOwner
  private let subscription: RemoteSubscription

  init(
    _ store: RemoteStore, _ session: RemoteSession, _ command: [UInt8], take: Int?,
    onMessage: (@Sendable (RemoteMessage) -> Void)?
  ) {
    self.store = store
    self.session = session
    owner = WatchOwner(messages: sent, feed: feed, onMessage: onMessage)
    let subscription = RemoteSubscription(command, isForSignals: true, take: take, owner: owner)
    self.subscription = subscription
    session.put(.call { session, loop in session.add(subscription, on: loop) })
  }

  deinit { cancel() }

  /// Sends the messages.
  public var messages: DerivedSignal<RemoteMessage, Never> { sent.readOnly }

  /// `connecting`, `live`, `stale` while there is no connection, and `closed` when it is over.
  public var state: DerivedProperty<RemoteState> { feed.readOnly }

  /// Why it ended, when nobody asked for it.
  public var error: RemoteError? { subscription.shown.withLock { $0.error } }

  /// Ends it.
  public func cancel() { session.put(.call { [subscription] session, loop in session.remove(subscription, on: loop) }) }
}
