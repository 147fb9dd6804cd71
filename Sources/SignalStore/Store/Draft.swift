// SPDX-License-Identifier: MIT

import JSON

/// A commit under construction: the changes so far, and the properties as they will be after them.
struct Draft {
  let revision: Revision
  let time: Timestamp
  private(set) var changes: [Change] = []
  /// Properties that keep value, revision and time, but whose lease or reason of failure changes.
  private(set) var amendments: [StoredValue] = []
  /// The number of bytes by which the properties will grow.
  private(set) var growth = 0
  /// What its changes add to what is used of quotas, where properties are computed.
  var claims = QuotaClaims()
  /// Whether its changes are corrections (``Change/isCorrection``).
  var isCorrection = false
  /// The index of each path in the changes; built on first use.
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

  /// The approximate size of its records, and rather more: paths and formulas may have to be escaped there.
  var recordBytes: Int {
    var bytes = 0
    for change in changes { bytes += Self.recordBytes(of: change) }
    for property in amendments { bytes += Self.recordBytes(ofAmending: property) }
    return bytes
  }

  /// The same of one change.
  static func recordBytes(of change: Change) -> Int {
    guard let new = change.new else { return 64 + 2 * change.path.bytes.count }
    var bytes = recordBytes(ofAmending: new) + new.value.bytes.count
    if let formula = new.computation?.formula, change.old?.computation?.formula != formula {
      bytes += 2 * formula.source.utf8.count
    }
    return bytes
  }

  private static func recordBytes(ofAmending property: StoredValue) -> Int {
    200 + 2 * property.path.bytes.count + 2 * (property.computation?.error?.utf8.count ?? 0)
  }

  mutating func amend(_ property: StoredValue) { amendments.append(property) }

  /// The property as it will be after the commit.
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

  /// The commit; nil when there is no change.
  var commit: Commit? {
    changes.first.map { Commit($0, rest: Array(changes.dropFirst())) }
  }
}
