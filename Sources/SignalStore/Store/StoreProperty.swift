// SPDX-License-Identifier: MIT

public import JSON

/// Why a ``StoreProperty`` has no value, or could not be given one.
public enum StorePropertyError: Error, Sendable, CustomStringConvertible {
  /// What the store has at this path cannot be read as a value of the property's type.
  case otherShape(JSONText, reason: String)
  /// The value cannot be written as JSON.
  case notEncodable(reason: String)
  /// The store refused the change.
  case refused(StoreError)

  /// One sentence.
  public var description: String {
    switch self {
    case .otherShape(let text, let reason): "\(text.description.prefix(60)) has another shape: \(reason)"
    case .notEncodable(let reason): "The value cannot be written as JSON: \(reason)"
    case .refused(let error): error.description
    }
  }
}

/// A property of a store with a Swift type: setting it sets the store, and its changes there are sent here.
///
/// ```swift
/// let temperature = store.property("kitchen/temperature", as: Double.self)
/// let subscription = temperature.subscribe { print($0 ?? .nan) }
/// temperature.value = 21.5                                           // 21.5, here and for every client of a server
/// try store.set("kitchen/temperature", JSONText(validating: "22"))   // 22.0
/// ```
///
/// 1. Its value is what the store has now, nil when there is no value at the path or one of another shape; then
/// ``error`` says why.
/// 2. Every change at the path is sent once, in the order of the revisions, whoever made it; to observers the delivery
///    rules of ``Property`` apply, except 13: a set that does not change the JSON text has no effect, because it is
///    none for the store.
/// 3. Setting nil removes the property from the store.
/// 4. What cannot be read or written is reported through ``error`` and ``errors``, and changes nothing. It never traps.
///
/// It keeps its store alive. Several of them for one path are independent of each other and agree.
public final class StoreProperty<Value: Codable & Sendable>: WritableSource {
  /// The values it sends; nil for none.
  public typealias Message = Value?

  /// Its path in the store.
  public let path: PropertyPath
  /// The store.
  public let store: PropertyStore

  /// The result of a read at a revision of the store.
  private struct Reading: Sendable {
    var revision: Revision
    var stored: StoredValue?
    var outcome: Result<Value?, StorePropertyError>

    var value: Value? { if case .success(let value) = outcome { value } else { nil } }
  }

  /// Follows the store; never older than what observers have received.
  private let mirror: Property<Reading>
  /// Kept alive here, because the store does not.
  private let feed: Signal<Change>
  private let failures = Signal<StorePropertyError>()
  private let bag = SubscriptionBag()

  init(_ store: PropertyStore, _ path: PropertyPath) {
    self.store = store
    self.path = path
    let mirror = Property(Self.read(store, path), skipping: { $0.revision >= $1.revision })
    self.mirror = mirror
    // Subscribes first, then reads the store: what is committed between the two comes twice, and is recognized by its
    // revision.
    feed = store.router.changes(at: path)
    bag.insert(
      feed.subscribe { change in
        mirror.update { $0 = Self.reading(change.new, change.revision) }
      })
    mirror.update { $0 = Self.read(store, path) }
    bag.insert(
      mirror.subscribe(from: .future) { [failures] reading in
        if case .failure(let error) = reading.outcome { failures.send(error) }
      })
  }

  private static func read(_ store: PropertyStore, _ path: PropertyPath) -> Reading {
    let (stored, revision) = store.read(bytes: path.bytes.span)
    return reading(stored, revision)
  }

  private static func reading(_ stored: StoredValue?, _ revision: Revision) -> Reading {
    guard let stored else { return Reading(revision: revision, stored: nil, outcome: .success(nil)) }
    return Reading(revision: revision, stored: stored, outcome: outcome(stored.value))
  }

  private static func outcome(_ text: JSONText) -> Result<Value?, StorePropertyError> {
    do { return .success(try text.decode(as: Value.self)) } catch {
      return .failure(.otherShape(text, reason: Self.reason(error)))
    }
  }

  /// What the store has now: read there, because another thread may still be delivering a change made by this one.
  ///
  /// In a transaction, what that has set, which the store receives at its end.
  private var current: Reading {
    let known = mirror.value
    if let text = StoreTransaction.current(of: store, isMade: false)?.text(at: path) {
      guard let text else { return Reading(revision: known.revision, stored: nil, outcome: .success(nil)) }
      return Reading(revision: known.revision, stored: nil, outcome: Self.outcome(text))
    }
    let path = path
    let (stored, revision) = store.read(bytes: path.bytes.span)
    if revision == known.revision || (stored != nil && stored === known.stored) { return known }
    return Self.reading(stored, revision)
  }

  /// The value in the store; nil when there is none, or one of another shape.
  ///
  /// Setting it sets the store, nil removes it there; ``set(_:)`` throws what this reports through ``errors``.
  public var value: Value? {
    get { current.value }
    set {
      do { try set(newValue) } catch { failures.send(error) }
    }
  }

  /// Why there is no value; nil when there is one, and when there is no property at the path.
  public var error: StorePropertyError? {
    if case .failure(let error) = current.outcome { error } else { nil }
  }

  /// Sends an error for each value of another shape that is set in the store, and for each failed set of ``value``.
  public var errors: DerivedSignal<StorePropertyError, Never> { failures.readOnly }

  /// Sets the store; nil removes the property there.
  ///
  /// In a ``withTransaction(_:)`` the store receives everything set there through properties at its end, as one
  /// transaction of its own, which it executes completely or not at all. A refusal is then reported through ``errors``.
  ///
  /// - Throws: ``StorePropertyError/notEncodable(reason:)`` or ``StorePropertyError/refused(_:)``; nothing is changed
  ///   then.
  public func set(_ value: Value?) throws(StorePropertyError) {
    let text = try text(of: value)
    if let transaction = StoreTransaction.current(of: store, isMade: true) {
      return transaction.set(path, text, failures: failures)
    }
    try apply(text, if: .any)
  }

  /// Changes the value atomically: no other change of it can come between.
  ///
  /// `change` may run again, on a newer value. A failure is reported through ``errors``, and nothing is changed. In a
  /// ``withTransaction(_:)`` it runs once, on the value at that time; what others set until its end is overwritten.
  public func modify(_ change: (inout Value?) -> Void) {
    if Transaction.current != nil {
      var value = value
      change(&value)
      self.value = value
      return
    }
    while true {
      let reading = current
      var value = reading.value
      change(&value)
      // The property as it was read, not the revision of the whole store: others may change it meanwhile.
      let condition: Condition =
        reading.stored.map { .matches(Cursor(epoch: store.epoch, revision: $0.revision)) } ?? .absent
      do throws(StorePropertyError) {
        return try apply(try text(of: value), if: condition)
      } catch {
        if case .refused(.conditionFailed) = error { continue }
        return failures.send(error)
      }
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

  private func text(of value: Value?) throws(StorePropertyError) -> JSONText? {
    guard let value else { return nil }
    do { return try JSONText(encoding: value) } catch { throw .notEncodable(reason: Self.reason(error)) }
  }

  private func apply(_ text: JSONText?, if condition: Condition) throws(StorePropertyError) {
    do throws(StoreError) {
      if let text { try store.set(path, text, if: condition) } else { try store.delete(path, if: condition) }
    } catch {
      throw .refused(error)
    }
  }

  /// The description of an error of a `Codable` type, with its coding path.
  private static func reason(_ error: any Error) -> String {
    let context: (path: [any CodingKey], text: String)? =
      switch error {
      case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
        DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
        (context.codingPath, context.debugDescription)
      case EncodingError.invalidValue(_, let context): (context.codingPath, context.debugDescription)
      default: nil
      }
    guard let context else { return "\(error)" }
    if context.path.isEmpty { return context.text }
    return "\(context.path.map(\.stringValue).joined(separator: "/")): \(context.text)"
  }
}

extension StoreProperty: CustomStringConvertible {
  /// As `StoreProperty<Double>(kitchen/temperature: 21.5)`.
  public var description: String {
    "StoreProperty<\(Value.self)>(\(path): \(value.map { "\($0)" } ?? "nil"))"
  }
}

extension StoreProperty: Overridable {
  package var overridePlace: OverridePlace? { mirror.overridePlace }
}

extension PropertyStore {
  /// The property at a path, with a Swift type.
  public func property<Value: Codable & Sendable>(
    _ path: PropertyPath, as type: Value.Type = Value.self
  ) -> StoreProperty<Value> {
    StoreProperty(self, path)
  }
}
