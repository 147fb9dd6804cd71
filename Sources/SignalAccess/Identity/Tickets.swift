// SPDX-License-Identifier: MIT
package import SignalStore
import Synchronization

/// Tickets for what cannot send fields: each opens one connection, soon, for a page of the origin that has asked for it.
///
/// Once it has been used, or half a minute later, it is worthless, also in a log.
package final class Tickets: Sendable {
  /// For how long a ticket is good, in milliseconds.
  package static let lifetime: Int64 = 30_000
  /// The maximum number of tickets that are good at a time.
  package static let most = 10_000
  /// The maximum number of those of one identity; a further one replaces the oldest.
  package static let mostOfOne = 32

  private struct Ticket {
    let identity: Identity
    let origin: [UInt8]?
    let expires: Timestamp
  }

  private struct Owner: Hashable {
    let kind: Identity.Kind
    let id: String

    init(_ identity: Identity) {
      kind = identity.kind
      id = identity.id
    }
  }

  private struct State {
    var tickets: [Digest: Ticket] = [:]
    /// The digests of each owner's tickets, oldest first.
    var owned: [Owner: [Digest]] = [:]

    mutating func remove(_ digest: Digest) -> Ticket? {
      guard let ticket = tickets.removeValue(forKey: digest) else { return nil }
      let owner = Owner(ticket.identity)
      owned[owner]?.removeAll { $0 == digest }
      if owned[owner]?.isEmpty == true { owned[owner] = nil }
      return ticket
    }
  }

  private let state = Mutex(State())

  package init() {}

  /// Makes a ticket.
  ///
  /// - Parameter origin: The origin of the page, if it is another than the server's own.
  /// - Returns: nil when there is no room for another.
  package func issue(
    for identity: Identity, origin: [UInt8]?, at now: Timestamp = .now
  ) -> (text: String, expires: Timestamp)? {
    guard let bytes = SecretBytes.random(32) else { return nil }
    let text = Base64URL.encode(bytes)
    let digest = Digest(of: text.utf8.span)
    let expires = Timestamp(milliseconds: now.milliseconds + Self.lifetime)
    let owner = Owner(identity)
    return state.withLock { state in
      if let own = state.owned[owner], own.count >= Self.mostOfOne { _ = state.remove(own[0]) }
      if state.tickets.count >= Self.most {
        for (digest, ticket) in state.tickets where ticket.expires <= now { _ = state.remove(digest) }
      }
      guard state.tickets.count < Self.most else { return nil }
      state.tickets[digest] = Ticket(identity: identity, origin: origin, expires: expires)
      state.owned[owner, default: []].append(digest)
      return (text, expires)
    }
  }

  /// Uses a ticket up.
  ///
  /// - Returns: nil when there is no such ticket, or it is for another origin, or its time is over.
  package func redeem(_ text: Span<UInt8>, origin: [UInt8]?, at now: Timestamp = .now) -> Identity? {
    let digest = Digest(of: text)
    guard let ticket = state.withLock({ $0.remove(digest) }), ticket.origin == origin, now < ticket.expires else {
      return nil
    }
    return ticket.identity
  }
}
