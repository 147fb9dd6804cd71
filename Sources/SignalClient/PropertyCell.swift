// SPDX-License-Identifier: MIT

import JSON
import SignalHTTP
import SignalStore
import Signals
import Synchronization

/// What is known about one property, and what was set here and is not known to the server yet.
struct CellState: Sendable {
  /// A set that the server has not answered.
  struct Write: Sendable {
    let id: UInt64
    /// nil removes the property.
    let text: JSONText?
  }

  /// A set that the server has answered, while its event may still be on the way.
  struct Confirmed: Sendable {
    let text: JSONText?
    let epoch: String
    let revision: UInt64
    /// The revision of the property; nil when it is not known, as a set that changes nothing is answered with that of the
    /// store.
    var changed: UInt64?
  }

  /// What the server has sent.
  private(set) var known: RemoteEntry?
  private(set) var confirmed: Confirmed?
  /// The newest set without an outcome.
  private(set) var last: Write?
  /// The newest set, whose outcome is the error.
  private var newest: UInt64 = 0
  var feed = RemoteState.connecting
  var error: RemoteError?
  /// What is shown: what was set last here, unless it was refused; else what the server has.
  private(set) var shown: JSONText?
  /// Counts the different values that were shown.
  private(set) var number: UInt64 = 0

  /// What the server has, as far as it has said so, and the cursor for a condition; none for nothing.
  var base: (text: JSONText?, cursor: String?) {
    guard let confirmed, let changed = confirmed.changed else { return (known?.value, known?.cursor) }
    return (confirmed.text, confirmed.text.map { _ in "\(confirmed.epoch).\(changed)" })
  }

  mutating func begin(_ write: Write) {
    last = write
    newest = write.id
    show()
  }

  /// A set cannot even be shown.
  mutating func fail(_ id: UInt64, _ error: RemoteError) {
    newest = id
    self.error = error
  }

  /// The outcome of a set is known.
  ///
  /// - Parameters:
  ///   - confirmed: nil when its event has come already.
  ///   - open: The newest set that has no outcome yet.
  mutating func settle(_ id: UInt64, _ confirmed: Confirmed?, _ error: RemoteError?, open: Write?) {
    if last?.id == id { last = open }
    if newest == id { self.error = error }
    if error == nil {
      let before = self.confirmed
      self.confirmed = confirmed
      if let confirmed, let before, confirmed.changed == nil, before.epoch == confirmed.epoch,
        before.text == confirmed.text
      {
        self.confirmed?.changed = before.changed
      }
    }
    show()
  }

  mutating func learn(_ entry: RemoteEntry?) {
    known = entry
    show()
  }

  /// Whether what is confirmed waits no more when all events up to a revision have come.
  func isReached(_ revision: UInt64, epoch: String) -> Bool {
    confirmed.map { $0.epoch != epoch || $0.revision <= revision } ?? false
  }

  /// All events up to a revision have come.
  mutating func reached(_ revision: UInt64, epoch: String) {
    guard isReached(revision, epoch: epoch) else { return }
    confirmed = nil
    show()
  }

  /// Nothing more is heard of it.
  mutating func end(_ error: RemoteError?) {
    feed = .closed
    self.error = error
    confirmed = nil
    show()
  }

  private mutating func show() {
    let text: JSONText? =
      if let last { last.text } else if let confirmed { confirmed.text } else { known?.value }
    guard text != shown else { return }
    shown = text
    number += 1
  }
}

/// One property of a ``RemoteStore``, for all the ``RemoteProperty`` of its path: watched as long as it exists.
final class PropertyCell: Sendable {
  let path: PropertyPath
  let session: RemoteSession
  /// All of it in one property, so that observers see every value in the order of what happened.
  let state = Property(CellState())
  /// Names it in the table of its store.
  let id: UInt64
  private let isGone: @Sendable (PropertyCell) -> Void
  /// The subscription that it shares, once there is one.
  let group = Mutex<PropertyGroup?>(nil)
  private let open = Mutex(OpenWrites())

  init(_ path: PropertyPath, _ session: RemoteSession, id: UInt64, isGone: @escaping @Sendable (PropertyCell) -> Void) {
    self.path = path
    self.session = session
    self.id = id
    self.isGone = isGone
    session.put(.call { [weak self] session, loop in if let self { session.join(self, on: loop) } })
  }

  deinit {
    isGone(self)
    if let group = group.withLock({ $0 }) {
      session.put(.call { [path] _, loop in group.leave(path, on: loop) })
    }
  }

  private static let writes = Atomic<UInt64>(0)

  /// A number for a set.
  static func newWrite() -> UInt64 { writes.add(1, ordering: .relaxed).newValue }

  /// Shows a value until the server has answered.
  func begin(_ write: CellState.Write) {
    open.withLock { $0.add(write) }
    state.update { $0.begin(write) }
  }

  /// The same, with what `change` makes of the state, unless that throws.
  func begin(
    _ change: (inout CellState) throws(RemoteError) -> CellState.Write
  ) throws(RemoteError) -> CellState.Write {
    let write = try state.update { state throws(RemoteError) in
      let write = try change(&state)
      state.begin(write)
      return write
    }
    open.withLock { $0.add(write) }
    return write
  }

  /// A set that cannot be written down.
  func fail(_ error: RemoteError) {
    let id = Self.newWrite()
    state.update { $0.fail(id, error) }
  }

  /// The outcome of a set.
  func settle(_ write: CellState.Write, _ result: Result<PendingCommand.Reply, RemoteError>) {
    let open = open.withLock { $0.remove(write.id) }
    switch result {
    case .success(let reply):
      let revision = reply.members.number("revision") ?? 0
      let group = group.withLock { $0 }
      let awaits = group?.awaits(revision, epoch: reply.epoch, for: self) ?? true
      let confirmed = CellState.Confirmed(
        text: write.text, epoch: reply.epoch, revision: revision, changed: reply.changesAll ? revision : nil)
      state.update { $0.settle(write.id, awaits ? confirmed : nil, nil, open: open) }
    case .failure(let error): state.update { $0.settle(write.id, nil, error, open: open) }
    }
  }
}

/// Sets without an outcome, of one property; as many as the store lets wait.
private struct OpenWrites: Sendable {
  private var writes: [CellState.Write] = []
  private var first = 0

  mutating func add(_ write: CellState.Write) { writes.append(write) }

  /// Forgets one, and gives the newest that is left.
  mutating func remove(_ id: UInt64) -> CellState.Write? {
    guard first < writes.count else { return nil }
    // The server answers in order, and what is not even sent is mostly the newest.
    if writes[first].id == id {
      first += 1
    } else if writes[writes.count - 1].id == id {
      writes.removeLast()
    } else if let index = writes[first...].firstIndex(where: { $0.id == id }) {
      writes.remove(at: index)
    }
    if first == writes.count {
      writes.removeAll(keepingCapacity: writes.capacity <= 64)
      first = 0
    } else if first > 64, first * 2 > writes.count {
      writes.removeFirst(first)
      first = 0
    }
    return first < writes.count ? writes[writes.count - 1] : nil
  }
}

/// Does not keep a cell alive.
struct WeakCell: Sendable {
  private(set) weak var cell: PropertyCell?

  init(_ cell: PropertyCell) { self.cell = cell }
}

extension PropertyCell {
  func reached(_ revision: UInt64, epoch: String) {
    // A later set may wait for its own event.
    if state.value.isReached(revision, epoch: epoch) { state.update { $0.reached(revision, epoch: epoch) } }
  }

  func turned(_ turn: RemoteState, _ error: RemoteError?) {
    state.update { state in
      if turn == .closed { state.end(error) } else { state.feed = turn }
    }
  }
}
