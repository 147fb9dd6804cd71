// SPDX-License-Identifier: MIT

internal import SignalStore

/// Which processes of nodes are there, as the holders show that their clients are.
///
/// The numbers of all holders that a process makes begin with the same 30 bits, which its beats tell.
struct Presence {
  /// The beginning of the numbers of this process.
  let own: UInt64
  /// How the names of operations begin that this process has forwarded.
  private let ownOperations: String
  /// Silence after which a process is gone, in milliseconds.
  private let timeout: UInt64
  /// Since when all others would have been heard.
  private var since: UInt64 = 0
  private var heard: [UInt64: UInt64] = [:]
  /// Holders of this process whose connections have ended, so that others release them because of that.
  private var ended: Set<Holder> = []
  /// Holders of processes that are gone, as far as they are being released.
  private var released: Set<Holder> = []
  /// When it is looked for them next.
  private(set) var nextLook: UInt64 = 0

  private static let shift: UInt64 = 31

  /// - Parameter name: That of this process, as operations in the log name it.
  init(name: String, timeout: UInt64) {
    ownOperations = "\(name)."
    own = .random(in: 1..<1 << 30)
    self.timeout = timeout
  }

  /// The holder before the first of this process.
  var lastHolder: UInt64 { own << Self.shift }

  /// From now on the others are heard, and before that they may not have been.
  mutating func begin(at now: UInt64) {
    since = now
    nextLook = now + timeout
    released = []
  }

  /// From now on this node releases what clients of others held; it has heard the others before.
  mutating func lead(at now: UInt64) {
    nextLook = max(now, since + timeout)
    released = []
  }

  mutating func heard(_ process: UInt64, at now: UInt64) { heard[process] = now }

  /// A connection of this process has ended.
  mutating func ended(_ holder: Holder) { if holder.number >> Self.shift == own { ended.insert(holder) } }

  /// What a connection of this process held has ended, and whatever says so has been read.
  mutating func forget(_ holder: Holder) { ended.remove(holder) }

  /// The holders of processes that are gone, each once.
  mutating func gone(of holders: [Holder], at now: UInt64) -> [Holder] {
    nextLook = now + 1000
    guard now >= since + timeout else { return [] }
    heard = heard.filter { now < $0.value + timeout }
    if let earliest = heard.values.min() { nextLook = min(nextLook, earliest + timeout) }
    let gone = holders.filter { holder in
      let process = holder.number >> Self.shift
      return process != own && heard[process] == nil && !released.contains(holder)
    }
    released.formUnion(gone)
    return gone
  }

  /// Whether an entry ends what a client of this process holds, or has registered for its end, that is still there.
  ///
  /// - Parameter operation: The forwarded operation that has made it.
  func isBelievedGone(by record: Record, _ operation: String?) -> Bool {
    switch record {
    case .commit(let commit):
      commit.contains { change in
        guard change.op == .release, let holder = change.old?.lease?.holder else { return false }
        return isHere(holder)
      }
    // A client may take back itself what it has registered.
    case .lastOperations(let holder, nil):
      isHere(holder) && operation.map { !$0.hasPrefix(ownOperations) } == true
    default: false
    }
  }

  private func isHere(_ holder: Holder) -> Bool {
    holder.number >> Self.shift == own && !ended.contains(holder)
  }
}
