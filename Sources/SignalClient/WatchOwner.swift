// SPDX-License-Identifier: MIT

import SignalHTTP
import Signals

/// Passes what a subscription makes of its events on to a ``RemoteWatch`` or a ``RemoteListener``, which it does not keep
/// alive.
final class WatchOwner: SubscriptionOwner {
  private let changes: Signal<[RemoteChange]>?
  private let messages: Signal<RemoteMessage>?
  private let feed: Property<RemoteState>
  private let onChange: (@Sendable ([RemoteChange]) -> Void)?
  private let onMessage: (@Sendable (RemoteMessage) -> Void)?

  init(
    changes: Signal<[RemoteChange]>? = nil, messages: Signal<RemoteMessage>? = nil, feed: Property<RemoteState>,
    onChange: (@Sendable ([RemoteChange]) -> Void)? = nil, onMessage: (@Sendable (RemoteMessage) -> Void)? = nil
  ) {
    self.changes = changes
    self.messages = messages
    self.feed = feed
    self.onChange = onChange
    self.onMessage = onMessage
  }

  func deliver(_ changes: [RemoteChange], on loop: isolated EventLoop) {
    onChange?(changes)
    self.changes?.send(changes)
  }

  func deliver(_ message: RemoteMessage, on loop: isolated EventLoop) {
    onMessage?(message)
    messages?.send(message)
  }

  func turned(_ state: RemoteState, _ error: RemoteError?, on loop: isolated EventLoop) { feed.set(state) }
}
