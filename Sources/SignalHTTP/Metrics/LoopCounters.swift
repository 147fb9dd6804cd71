// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// The counters of one loop, which alone writes them; any thread may read them.
///
/// An addition is a load and a store, without a lock and without an instruction that locks the bus: the numbers are
/// atomic only so that a reader never sees half of one. A reader may see one counter before another that was changed
/// earlier.
///
/// A value with a pointer, so that counting does not count references; `CounterTable` owns the memory.
@safe struct LoopCounters: @unchecked Sendable {
  // Atomics, at an address that does not change while the table lives.
  private let numbers: UnsafeMutablePointer<Atomic<Int>>

  fileprivate init(_ numbers: UnsafeMutablePointer<Atomic<Int>>) { unsafe self.numbers = numbers }

  // The places in the table, one kind of counters after the other.

  private static var turns: Int { Counter.filterFailures.rawValue + 1 }
  private static var deliveries: Int { turns + durationCount }
  /// Requests of the present turn by kind, and a bit for each kind that there is.
  private static var pending: Int { deliveries + durationCount }
  private static var pendingBits: Int { pending + RequestKind.count }
  private static var pendingWords: Int { (RequestKind.count + 63) / 64 }
  private static var refusals: Int { pendingBits + pendingWords }
  private static var requests: Int { refusals + CounterTable.mostCodes }
  private static var requestDurations: Int { requests + RequestKind.count * StatusNumber.count }
  fileprivate static var count: Int { requestDurations + RequestKind.count * durationCount }
  /// The buckets of a histogram, and behind them the sum.
  ///
  /// That of ``DurationBuckets/count``, as the table checks: places are computed in each turn, and the other number is
  /// one that another module has to be asked for.
  fileprivate static var bucketCount: Int { 24 }
  private static var durationCount: Int { bucketCount + 1 }

  @inline(__always)
  private func add(_ number: Int, at place: Int) {
    let counter = unsafe numbers + place
    unsafe counter.pointee.store(counter.pointee.load(ordering: .relaxed) &+ number, ordering: .relaxed)
  }

  private func value(at place: Int) -> Int { unsafe numbers[place].load(ordering: .relaxed) }

  private func take(at place: Int) -> Int {
    let value = value(at: place)
    unsafe numbers[place].store(0, ordering: .relaxed)
    return value
  }

  // MARK: Counting, on the loop

  /// Adds to a counter.
  @inline(__always)
  func add(_ counter: Counter, _ number: Int = 1) { add(number, at: counter.rawValue) }

  /// Sets a counter that shows how much there is.
  func set(_ counter: Counter, to number: Int) {
    unsafe numbers[counter.rawValue].store(number, ordering: .relaxed)
  }

  private func record(_ number: Int, of nanoseconds: UInt64, at place: Int) {
    add(number, at: place + DurationBuckets.index(of: nanoseconds))
    add(number &* Int(clamping: nanoseconds), at: place + Self.bucketCount)
  }

  /// Counts commits of which each took so long to be sent.
  func recordDeliveries(_ commits: Int, after nanoseconds: UInt64) {
    record(commits, of: nanoseconds, at: Self.deliveries)
  }

  /// Counts the answer to a request.
  ///
  /// - Parameter isTimed: Whether its duration is that of the turn, with which it is recorded at the end of that.
  func countRequest(_ kind: RequestKind, status: Int, isTimed: Bool) {
    add(1, at: Self.requests + kind.index * StatusNumber.count + StatusNumber.number(of: status))
    guard isTimed else { return }
    add(1, at: Self.pending + kind.index)
    let word = unsafe numbers + Self.pendingBits + kind.index / 64
    unsafe word.pointee.store(word.pointee.load(ordering: .relaxed) | 1 << (kind.index % 64), ordering: .relaxed)
  }

  /// Counts the duration of a request that was answered in a later turn.
  func recordRequest(_ kind: RequestKind, taking nanoseconds: UInt64) {
    record(1, of: nanoseconds, at: Self.requestDurations + kind.index * Self.durationCount)
  }

  /// Counts a turn and, with its duration, the requests that were answered in it.
  func endTurn(taking nanoseconds: UInt64) {
    record(1, of: nanoseconds, at: Self.turns)
    for word in 0..<Self.pendingWords {
      var bits = UInt(bitPattern: value(at: Self.pendingBits + word))
      guard bits != 0 else { continue }
      _ = take(at: Self.pendingBits + word)
      while bits != 0 {
        let kind = word * 64 + bits.trailingZeroBitCount
        bits &= bits - 1
        record(
          take(at: Self.pending + kind), of: nanoseconds, at: Self.requestDurations + kind * Self.durationCount)
      }
    }
  }

  /// Counts a refusal with the code of this number; see ``CounterTable/number(of:)``.
  func countRefusal(_ code: Int) { add(1, at: Self.refusals + code) }

  // MARK: Reading, from any thread

  subscript(counter: Counter) -> Int { value(at: counter.rawValue) }

  private func durations(at place: Int) -> DurationCounts {
    var counts = DurationCounts()
    for index in 0..<DurationBuckets.count { counts.buckets[index] = value(at: place + index) }
    counts.nanoseconds = value(at: place + DurationBuckets.count)
    return counts
  }

  var turns: DurationCounts { durations(at: Self.turns) }
  /// Nanoseconds spent in turns.
  var busyTime: Int { value(at: Self.turns + DurationBuckets.count) }
  /// From a commit to the end of the turn in which it was sent.
  var deliveries: DurationCounts { durations(at: Self.deliveries) }

  func requests(_ kind: RequestKind, status number: Int) -> Int {
    value(at: Self.requests + kind.index * StatusNumber.count + number)
  }

  func requestDurations(_ kind: RequestKind) -> DurationCounts {
    durations(at: Self.requestDurations + kind.index * Self.durationCount)
  }

  func refusals(_ code: Int) -> Int { value(at: Self.refusals + code) }
}

/// The memory of a loop's counters.
@safe final class CounterTable: Sendable {
  /// Codes of refusals that are counted apart; any others are counted together, as the last.
  static var mostCodes: Int { 128 }

  // Written by the loop alone, through `counters`.
  nonisolated(unsafe) private let numbers: UnsafeMutablePointer<Atomic<Int>>
  private let codes = Mutex<[String]>([])

  init() {
    precondition(LoopCounters.bucketCount == DurationBuckets.count)
    unsafe numbers = .allocate(capacity: LoopCounters.count)
    for place in 0..<LoopCounters.count { unsafe (numbers + place).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe numbers.deinitialize(count: LoopCounters.count)
    unsafe numbers.deallocate()
  }

  /// Valid as long as the table.
  var counters: LoopCounters { unsafe LoopCounters(numbers) }

  /// The number of a code, which is given one if it has none yet.
  func number(of code: String) -> Int {
    codes.withLock { codes in
      if let number = codes.firstIndex(of: code) { return number }
      guard codes.count < Self.mostCodes - 1 else { return Self.mostCodes - 1 }
      codes.append(code)
      return codes.count - 1
    }
  }

  /// How often there was a refusal with each code.
  var refusals: [(code: String, number: Int)] {
    let named = codes.withLock { $0 }.enumerated().map { ($1, counters.refusals($0)) }
    let others = counters.refusals(Self.mostCodes - 1)
    return others > 0 ? named + [("other", others)] : named
  }
}

/// The counters of all loops of a server.
final class ServerCounters: Sendable {
  private let all = Mutex<[CounterTable]>([])

  /// In the order of the loops; empty before the start.
  var tables: [CounterTable] { all.withLock { $0 } }

  func set(_ tables: [CounterTable]) { all.withLock { $0 = tables } }
}
