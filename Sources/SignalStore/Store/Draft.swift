// SPDX-License-Identifier: MIT

/// A commit while it is made: the changes so far, and the properties as they will be with them.
struct Draft {
  let revision: Revision
  let time: Timestamp
  private(set) var changes: [Change] = []
  /// Properties that keep value, revision and time, but whose lease or reason of failure will be another.
  private(set) var amendments: [StoredValue] = []
  /// By how many bytes the properties will be more.
  private(set) var growth = 0
  /// Whether its changes correct what a restart has forgotten.
  var isCorrection = false
  /// Where in the changes a path is; made when somebody asks.
  private var places: [PropertyPath: Int]?

  /// The next commit of a replica.
  init(after replica: Replica, at now: Timestamp) {
    revision = replica.revision.next
    time = max(replica.time, now)
  }

  mutating func add(_ change: Change) {
    places?[change.path] = changes.count
    changes.append(isCorrection ? change.asCorrection : change)
    growth += (change.new.map(Replica.cost) ?? 0) - (change.old.map(Replica.cost) ?? 0)
  }

  mutating func amend(_ property: StoredValue) { amendments.append(property) }

  /// The property as it will be.
  mutating func value(at path: PropertyPath, in replica: Replica) -> StoredValue? {
    if places == nil {
      var places: [PropertyPath: Int] = [:]
      places.reserveCapacity(changes.count)
      for index in changes.indices { places[changes[index].path] = index }
      self.places = places
    }
    if let place = places?[path] { return changes[place].new }
    return replica.tree.value(at: path)
  }

  /// nil when there is no change.
  var commit: Commit? {
    changes.first.map { Commit($0, rest: Array(changes.dropFirst())) }
  }
}
