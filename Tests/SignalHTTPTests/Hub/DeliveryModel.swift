// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore
import TestSupport

@testable import SignalHTTP

/// A value of the model: a number, an object with the members `a` and `b`, or something else.
struct ModelValue: Equatable {
  let text: String
  let number: Int?
  let a: Int?
  let b: Int?

  static func random(using random: inout some RandomNumberGenerator) -> ModelValue {
    let a = Int.random(in: 0...9, using: &random)
    let b = Int.random(in: 0...9, using: &random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0...4: return ModelValue(text: "\(a)", number: a, a: nil, b: nil)
    case 5: return ModelValue(text: #"{"a":\#(a)}"#, number: nil, a: a, b: nil)
    case 6: return ModelValue(text: #"{"a":\#(a),"b":\#(b)}"#, number: nil, a: a, b: b)
    case 7: return ModelValue(text: #"{"b":\#(b)}"#, number: nil, a: nil, b: b)
    default: return ModelValue(text: #""s\#(b)""#, number: nil, a: nil, b: nil)
    }
  }
}

/// A change of the model's store.
struct ModelChange {
  enum Operation: String { case set, delete, expire }

  let revision: UInt64
  let op: Operation
  let path: String
  let old: ModelValue?
  let new: ModelValue?
}

/// What one subscription is to be told of a change, by the letter of `docs/protocol.md` §4.
struct ModelEvent {
  enum Kind: String { case didSet, didDelete, didExpire, didExit }

  let kind: Kind
  let path: String
  let value: String?
  var oldValue: String?
  /// Whether there was something to be seen before.
  let wasThere: Bool
  var entered: Bool
  /// In `didExit`.
  let op: String?
  let revision: UInt64
  /// When it happened, in the loop's time.
  let time: UInt64

  var number: Double? { value.flatMap { Double($0) } }

  func text(_ fields: EventFields) -> String {
    var text = #"{"type":"\#(kind.rawValue)","subscription":1"#
    if fields.contains(.path) { text += #","path":"\#(path)""# }
    if let value, fields.contains(.value) { text += #","value":\#(value)"# }
    if let oldValue, fields.contains(.oldValue) { text += #","oldValue":\#(oldValue)"# }
    if entered, fields.contains(.entered) { text += #","entered":true"# }
    if let op, fields.contains(.op) { text += #","op":"\#(op)""# }
    if kind == .didExpire, fields.contains(.op) { text += #","reason":"ttl""# }
    if fields.contains(.revision) { text += #","revision":\#(revision)"# }
    return text
  }
}

/// What a client of the model asks for.
struct ModelOptions {
  enum Condition {
    case none
    /// The value is a number above this.
    case number(Int)
    /// The value's member `b` is above this.
    case member(Int)
    /// The value is a number above this, and it was not 3.
    case transition(Int)
  }

  var patterns: [PathPattern]
  var condition = Condition.none
  var exit = true
  var fields = EventFields.all
  /// Only the member `a` is seen.
  var seesPart = false
  var delivery = DeliveryOptions()
  var take: Int?
  var initial = true
  /// Milliseconds of silence before a bookmark; nil is the hub's.
  var bookmark: UInt64?
  var wire = Wire.webSocket(batched: false)

  /// - Parameter isExact: Whether the client is to know every event that it is told, so that it needs no fields to
  ///   recognize them by.
  static func random(isExact: Bool, using random: inout some RandomNumberGenerator) -> ModelOptions {
    func once(in number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }
    let patterns: [[PathPattern]] = [["**"], ["a/**"], ["*"], ["a", "b/**"], ["*/x", "a/*"]]
    var options = ModelOptions(patterns: patterns.randomElement(using: &random) ?? [.all])
    let bound = Int.random(in: 0...7, using: &random)
    options.condition = [.none, .none, .number(bound), .member(bound), .transition(bound)].randomElement(
      using: &random)!
    options.exit = !once(in: 4)
    options.seesPart = once(in: 3)
    options.initial = !once(in: 4)
    if once(in: 6) { options.take = Int.random(in: 1...12, using: &random) }
    options.delivery.mode = DeliveryOptions.Mode.allCases.randomElement(using: &random)!
    if options.delivery.mode != .all, once(in: 2) {
      options.delivery.maxRate = [1000.0 / 30, 10, 4].randomElement(using: &random)!
    }
    if once(in: 2) {
      options.delivery.deadband = [.absolute(2), .absolute(4), .percent(30), .percent(100)].randomElement(
        using: &random)!
    }
    options.bookmark = [nil, nil, 60, 150, 300].randomElement(using: &random)!
    if once(in: 2) { options.fields.remove(.oldValue) }
    if isExact, once(in: 3) {
      for (_, field) in EventFields.named where once(in: 2) { options.fields.remove(field) }
    }
    options.wire = [.webSocket(batched: false), .webSocket(batched: true), .eventStream(chunked: false)]
      .randomElement(using: &random)!
    return options
  }

  var hasFilter: Bool { if case .none = condition { false } else { true } }
  var isTransition: Bool { if case .transition = condition { true } else { false } }

  private var source: String? {
    switch condition {
    case .none: nil
    case .number(let bound): "value > \(bound)"
    case .member(let bound): "value.b > \(bound)"
    case .transition(let bound): "value > \(bound) && oldValue != 3"
    }
  }

  /// The same for the hub.
  func subscription() throws -> SubscriptionOptions {
    SubscriptionOptions(
      patterns: patterns, filter: try source.map { try Filter($0, limits: CELLimits()) }, exit: exit, fields: fields,
      pointer: seesPart ? try JSONPointer("/a") : nil, delivery: delivery,
      bookmark: bookmark.map { $0 * 1_000_000 })
  }

  // MARK: What is seen

  private func part(_ value: ModelValue?) -> String? { seesPart ? value?.a.map { "\($0)" } : value?.text }

  private func matches(_ value: ModelValue) -> Bool {
    switch condition {
    case .none: true
    case .number(let bound), .transition(let bound): value.number.map { $0 > bound } ?? false
    case .member(let bound): value.b.map { $0 > bound } ?? false
    }
  }

  func isAbout(_ path: String) -> Bool { patterns.contains { $0.matches(PropertyPath(stringLiteral: path)) } }

  /// What there is of a property that rests; in a snapshot a transition filter sees it as if it had just been set.
  func view(_ value: ModelValue?) -> String? { value.flatMap { matches($0) ? part($0) : nil } }

  func event(_ change: ModelChange, at time: UInt64) -> ModelEvent? {
    guard isAbout(change.path) else { return nil }
    func make(_ kind: ModelEvent.Kind, wasThere: Bool, entered: Bool = false) -> ModelEvent {
      ModelEvent(
        kind: kind, path: change.path, value: part(change.new), oldValue: part(change.old),
        wasThere: wasThere, entered: entered, op: kind == .didExit ? change.op.rawValue : nil,
        revision: change.revision, time: time)
    }
    let gone: ModelEvent.Kind = change.op == .expire ? .didExpire : .didDelete
    if isTransition {
      guard let new = change.new, matches(new), change.old?.number != 3 else { return nil }
      let (before, after) = (part(change.old), part(new))
      if after != nil { return seesPart && before == after ? nil : make(.didSet, wasThere: before != nil) }
      return before == nil ? nil : make(.didDelete, wasThere: true)
    }
    let (before, after) = (view(change.old), view(change.new))
    switch (before, after) {
    case (nil, nil): return nil
    case (nil, _?): return make(.didSet, wasThere: false, entered: hasFilter)
    case (let before?, let after?): return seesPart && before == after ? nil : make(.didSet, wasThere: true)
    case (_?, nil):
      if !hasFilter { return make(gone, wasThere: true) }
      if exit { return make(.didExit, wasThere: true) }
      return part(change.new) == nil ? make(gone, wasThere: true) : nil
    }
  }

  /// What is told of events that were kept: of each path the newest.
  ///
  /// - Parameter isMissed: Whether they were missed by one who resumes.
  func conflated(_ events: [ModelEvent], isMissed: Bool) -> [ModelEvent] {
    var told: [ModelEvent] = []
    for (index, last) in events.enumerated() where !events[(index + 1)...].contains(where: { $0.path == last.path }) {
      let same = events[...index].filter { $0.path == last.path }
      guard let first = same.first, same.count > 1, !isTransition else {
        told.append(last)
        continue
      }
      if last.kind != .didSet, !first.wasThere, exit || !hasFilter, !isMissed { continue }
      var event = last
      event.oldValue = first.oldValue
      event.entered = last.kind == .didSet && first.kind == .didSet && first.entered
      told.append(event)
    }
    return told
  }

  /// Whether a client that begins is told the present value of every property, so that the deadband can go by it.
  func tellsState(recovered: Bool?) -> Bool { !isTransition && (recovered.map { !$0 } ?? initial) }

  /// Whether the deadband may hide an event from one who knows this value.
  func mayHide(_ event: ModelEvent, knowing known: String?) -> Bool {
    guard let band = delivery.deadband, event.kind == .didSet, !event.entered, let new = event.number,
      let old = known.flatMap({ Double($0) })
    else { return false }
    switch band {
    case .absolute(let band): return abs(new - old) < band
    case .percent(let share): return abs(new - old) < abs(old) * share / 100
    }
  }
}
