// SPDX-License-Identifier: MIT
import TestSupport

@testable import SignalHTTP

/// What the deadband of some clients with the same subscription lets through, by the letter of `docs/protocol.md` §4
/// rule 5: of each path it knows every number that one of them was told last, in the order of the store, at once.
struct DeadbandModel {
  private let options: ModelOptions
  /// What clients were told last, of paths that are numbers.
  private var told: [String: [String]] = [:]
  /// The newest number of these paths, told or not.
  private var newest: [String: String] = [:]
  /// Whether all clients know what a property was before its first change.
  private var knowsBefore = false

  init(_ options: ModelOptions) { self.options = options }

  /// A client begins.
  mutating func begins(knowsState: Bool, isFirst: Bool) {
    if isFirst || !knowsState {
      told = [:]
      newest = [:]
      knowsBefore = knowsState
    } else {
      for (path, value) in newest { told[path]?.append(value) }
    }
  }

  /// Whether an event is one for the clients.
  mutating func lets(_ event: ModelEvent) -> Bool {
    guard options.delivery.deadband != nil else { return true }
    guard event.kind == .didSet, event.number != nil, let value = event.value else {
      told[event.path] = nil
      newest[event.path] = nil
      return true
    }
    var known = told[event.path]
    if known == nil, knowsBefore, event.wasThere, let before = event.oldValue, Double(before) != nil {
      known = [before]
    }
    newest[event.path] = value
    if let known, known.allSatisfy({ options.mayHide(event, knowing: $0) }) {
      told[event.path] = known
      return false
    }
    told[event.path] = [value]
    return true
  }

  /// What is let through of events that come after each other.
  mutating func passed(_ events: [ModelEvent]) -> [ModelEvent] { events.filter { lets($0) } }
}

/// The clients of a run that have the same subscription.
final class ModelGroup {
  private var deadband: DeadbandModel
  private(set) var clients: [ModelClient] = []

  init(_ options: ModelOptions) { deadband = DeadbandModel(options) }

  func join(_ client: ModelClient, recovered: Bool?) {
    deadband.begins(knowsState: client.options.tellsState(recovered: recovered), isFirst: clients.isEmpty)
    clients.append(client)
  }

  /// Returns whether nobody is left.
  func leave(_ client: ModelClient) -> Bool {
    clients.removeAll { $0 === client }
    return clients.isEmpty
  }

  func happens(_ changes: [ModelChange], at time: UInt64) {
    guard let options = clients.first?.options else { return }
    let events = changes.compactMap { options.event($0, at: time) }
    let passed = deadband.passed(events)
    for client in clients { client.happens(client.isExact ? passed : events) }
  }
}
