// SPDX-License-Identifier: MIT

import JSON
public import SignalStore
public import Signals

/// A property of a server with a Swift type: setting it sets it there, and its changes there are sent here.
///
/// ```swift
/// let temperature = store.property("kitchen/temperature", as: Double.self)
/// let subscription = temperature.subscribe { print($0 ?? .nan) }
/// temperature.value = 21.5    // 21.5, here at once, and for every client of the server
/// ```
///
/// It is what ``PropertyStore/property(_:as:)`` gives for a store in the same process, and code that takes a
/// ``WritableSource`` does not see the difference. What the network adds:
///
/// 1. Its value is what was set last here, until the server refuses that; else what the server has sent last. It is nil
///    while nothing is known, when there is no property at the path, and when there is one of another shape.
/// 2. Every change at the path is sent once, in the order of the revisions, also over broken connections. What was missed
///    while there was none follows, or, when the server does not remember it, the state that it came to. A change that
///    is made while a set from here is under way is not shown, unless it is the last.
/// 3. The last value that an observer receives is the one that the server has.
/// 4. A set that is refused, or of which it is not known what has become of it, is taken back: the value is again what
///    the server has, and ``error`` and ``errors`` say why.
/// 5. Observers are called on the loop of the store, or on the thread that sets; an observer that blocks holds up
///    all that comes from the server. `subscribe(on:)` calls it elsewhere.
/// 6. Two properties that change in one revision may be seen to change one after the other, unless they began to be
///    watched together. ``RemoteStore/watch(_:_:onChange:)`` shows what matches at one revision, always.
///
/// It keeps its store alive, and is watched as long as it, or a subscription to it, is kept.
public final class RemoteProperty<Value: Codable & Sendable>: WritableSource {
  /// The values it sends; nil for none.
  public typealias Message = Value?

  /// Its path on the server.
  public let path: PropertyPath
  /// Where it lives.
  public let store: RemoteStore

  /// What is shown, as a value.
  private struct Reading: Sendable {
    let number: UInt64
    let outcome: Result<Value?, RemoteError>

    var value: Value? { if case .success(let value) = outcome { value } else { nil } }
  }

  private let cell: PropertyCell
  private let mirror: Property<Reading>
  private let failures = Signal<RemoteError>()
  private let bag = SubscriptionBag()

  init(_ store: RemoteStore, _ path: PropertyPath) {
    self.store = store
    self.path = path
    let cell = store.cell(path)
    self.cell = cell
    let mirror = Property(Self.reading(cell.state.value), skipping: { $0.number == $1.number })
    self.mirror = mirror
    let readings = cell.state.map { [weak mirror] state in
      // Most steps do not change what is shown.
      if let known = mirror?.value, known.number == state.number { return known }
      return Self.reading(state)
    }
    bag.insert(readings.bind(to: mirror))
    bag.insert(
      mirror.subscribe(from: .future) { [failures] reading in
        if case .failure(let error) = reading.outcome { failures.send(error) }
      })
  }

  private static func reading(_ state: CellState) -> Reading {
    guard let text = state.shown else { return Reading(number: state.number, outcome: .success(nil)) }
    do { return Reading(number: state.number, outcome: .success(try text.decode(as: Value.self))) } catch {
      let reason = RemoteError("other_shape", "\(text.description.prefix(60)) has another shape: \(error)")
      return Reading(number: state.number, outcome: .failure(reason))
    }
  }

  private var current: Reading {
    let state = cell.state.value
    let known = mirror.value
    return known.number == state.number ? known : Self.reading(state)
  }

  /// The value; see rule 1.
  ///
  /// Setting it sets it on the server, nil removes it there. Inside of a ``withTransaction(_:)`` the server gets everything
  /// that is set there through properties of the same store at its end, as one transaction.
  public var value: Value? {
    get { current.value }
    set {
      do throws(RemoteError) { write(try text(of: newValue)) } catch {
        cell.fail(error)
        failures.send(error)
      }
    }
  }

  /// Why there is no value, or why the last set failed; nil when all is well.
  public var error: RemoteError? {
    let state = cell.state.value
    if let error = state.error { return error }
    if case .failure(let error) = current.outcome { return error }
    return nil
  }

  /// Sends an error for each value of another shape, and for each failed set of ``value``.
  public var errors: DerivedSignal<RemoteError, Never> { failures.readOnly }

  /// Whether the value is the server's: `connecting` while nothing is known, `live`, `stale` when it was so as the
  /// connection was lost, `closed` when nothing more is heard of it.
  public var state: DerivedProperty<RemoteState> { cell.state.map { $0.feed }.distinct() }

  /// The cursor of the last change that the server has sent, for a condition; nil when there is none.
  public var cursor: String? { cell.state.value.known?.cursor }

  /// Sets it on the server, nil removes it there, and waits for the answer.
  ///
  /// It is shown at once, and taken back when it fails.
  ///
  /// - Throws: ``RemoteError``, whose ``RemoteError/outcome`` says whether it may have been carried out.
  @discardableResult
  public func set(_ value: Value?, _ options: WriteOptions = WriteOptions()) async throws(RemoteError) -> WriteResult {
    let text: JSONText?
    do throws(RemoteError) { text = try self.text(of: value) } catch {
      cell.fail(error)
      throw error
    }
    let write = CellState.Write(id: PropertyCell.newWrite(), text: text)
    cell.begin(write)
    return try await store.write(path, write.text, options) { [cell] result in cell.settle(write, result) }
  }

  /// Sets it to what `change` makes of the value, again if somebody else was faster.
  ///
  /// - Parameter change: Gets the value as the server has it, nil for none; may be called several times.
  /// - Throws: ``RemoteError``; `precondition_failed` when 100 attempts have failed.
  @discardableResult
  public func update(_ change: @Sendable (Value?) -> Value?) async throws(RemoteError) -> WriteResult {
    let state = cell.state.value
    var (there, cursor) = state.base
    if state.feed != .live {
      let entry = try await store.entry(path)
      (there, cursor) = (entry?.value, entry?.cursor)
    }
    var attempts = 0
    while true {
      let value: Value?
      do { value = try there?.decode(as: Value.self) } catch {
        throw RemoteError("other_shape", "it has another shape: \(error)", .unsent)
      }
      do throws(RemoteError) {
        return try await set(change(value), .unchanged(since: cursor))
      } catch {
        attempts += 1
        guard error.code == "precondition_failed", attempts < 100 else { throw error }
        let entry = store.entry(of: error)
        (there, cursor) = (entry?.value, entry?.cursor)
      }
    }
  }

  /// Changes the value; no other set of this process comes between.
  ///
  /// The server takes it only if nobody else has changed it meanwhile; else it is taken back, and ``errors`` tells.
  /// When a set from here is still under way, it goes behind that, without a condition. ``update(_:)`` tries again.
  public func modify(_ change: (inout Value?) -> Void) {
    // nil where it goes on from a set from here.
    var options: WriteOptions?
    let id = PropertyCell.newWrite()
    do throws(RemoteError) {
      let write = try cell.begin { state throws(RemoteError) in
        var value = Self.reading(state).value
        change(&value)
        let isFree = state.last == nil && state.feed == .live
        options = isFree ? .unchanged(since: state.base.cursor) : nil
        return CellState.Write(id: id, text: try text(of: value))
      }
      send(write, options)
    } catch {
      cell.fail(error)
      failures.send(error)
    }
  }

  private func write(_ text: JSONText?) {
    let write = CellState.Write(id: PropertyCell.newWrite(), text: text)
    cell.begin(write)
    send(write, WriteOptions())
  }

  /// Sends a set that nobody waits for, or adds it to the transaction that the caller is in.
  private func send(_ write: CellState.Write, _ options: WriteOptions?) {
    let settle: @Sendable (Result<PendingCommand.Reply, RemoteError>) -> Void = { [cell, failures] result in
      cell.settle(write, result)
      if case .failure(let error) = result { failures.send(error) }
    }
    if let transaction = RemoteTransaction.current(of: store) {
      return transaction.set(path, write.text, options, settle)
    }
    store.send(
      store.writing(path, write.text, options ?? WriteOptions()), effect: .write(path, isKept: false), settle)
  }

  private func text(of value: Value?) throws(RemoteError) -> JSONText? {
    guard let value else { return nil }
    do { return try JSONText(encoding: value) } catch {
      throw RemoteError("not_encodable", "The value cannot be written as JSON: \(error)", .unsent)
    }
  }

  /// Sends the values to `sink`.
  public func attach(from start: StartingPoint, _ sink: Sink<Value?, Never>) -> Subscription {
    let link = Link()
    link.hold(mirror.subscribe(from: start) { sink.message($0.value) })
    // The subscription keeps the source alive, as with any other property.
    link.onEnd { withExtendedLifetime(self) {} }
    return link.token()
  }

  /// How many observers are subscribed.
  public var observerCount: Int { mirror.observerCount - 1 }

  /// This property with `missing` in place of no value, so that reading never returns nil.
  public func defaulting(to missing: Value) -> WritableProperty<Value> {
    WritableProperty(
      value: { self.value ?? missing },
      modify: { change in
        self.modify { value in
          var new = value ?? missing
          change(&new)
          value = new
        }
      }
    ) { start, sink in self.attach(from: start, Sink { sink.message($0 ?? missing) }) }
  }
}

extension RemoteProperty: CustomStringConvertible {
  /// As `RemoteProperty<Double>(kitchen/temperature: 21.5)`.
  public var description: String {
    "RemoteProperty<\(Value.self)>(\(path): \(value.map { "\($0)" } ?? "nil"))"
  }
}
