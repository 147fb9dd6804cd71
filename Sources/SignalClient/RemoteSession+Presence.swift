// SPDX-License-Identifier: MIT

import SignalHTTP
import SignalStore

/// What goes with a connection, and has to be said again on the next one (docs/protocol.md §3.6).
struct Presence {
  /// A command that is repeated.
  struct Kept {
    /// In the order of the replies; another one for each.
    let number: UInt64
    let command: [UInt8]
  }

  private(set) var held: [PropertyPath: Kept] = [:]
  private(set) var onDisconnect: Kept?
  private var last: UInt64 = 0

  /// The server has carried out a command; one that failed has changed nothing, here as there.
  mutating func note(_ command: PendingCommand) {
    switch command.effect {
    case .none: break
    case .write(let path, true): held[path] = keep(command)
    case .write(let path, false): if !held.isEmpty { held[path] = nil }
    case .writes(let paths): if !held.isEmpty { for path in paths { held[path] = nil } }
    case .onDisconnect(let isKept): onDisconnect = isKept ? keep(command) : nil
    }
  }

  private mutating func keep(_ command: PendingCommand) -> Kept {
    last += 1
    return Kept(number: last, command: command.members)
  }

  /// Whether nothing has come instead of it.
  func keeps(_ kept: Kept) -> Bool {
    onDisconnect?.number == kept.number || held.values.contains { $0.number == kept.number }
  }
}

extension RemoteSession {
  /// Says it on a new connection.
  func renewPresence(on loop: isolated EventLoop) {
    if let kept = presence.onDisconnect { renew(kept, on: loop) }
    for kept in presence.held.values.sorted(by: { $0.number < $1.number }) { renew(kept, on: loop) }
  }

  private func renew(_ kept: Presence.Kept, on loop: isolated EventLoop) {
    let command = PendingCommand(kept.command) { [weak self] result, loop in
      guard let self, case .failure(let error) = result, error.outcome == .refused else { return }
      report(error)
      if error.isTemporary {
        again(on: loop) { session, loop in
          if session.presence.keeps(kept) { session.renew(kept, on: loop) }
        }
      }
    }
    transmit(command, on: loop)
  }

  /// Tries something again that was refused for now, while the connection lasts.
  func again(
    on loop: isolated EventLoop, _ body: @escaping @Sendable (RemoteSession, isolated EventLoop) -> Void
  ) {
    let number = number
    after(configuration.timeout) { session, loop in
      if session.number == number, session.isReady { body(session, loop) }
    }
  }
}
