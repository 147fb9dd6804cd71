// SPDX-License-Identifier: MIT

import JSON

/// A limit on what may be beneath some paths: `users/{id}/**` with 1000 properties, for each `id` by itself.
///
/// It counts properties, and the bytes of their values; a computed one has at least the four of `null`, which it is when
/// its formula fails. A pattern without captures is one limit for all of its paths.
package struct Quota: Equatable, Sendable {
  /// The maximum number of quotas of a store: each change is compared with them while others wait.
  package static let most = 64

  /// The pattern with its captures, as it was written.
  package let match: String
  /// The maximum number of properties; nil for no limit.
  package let properties: Int?
  /// The maximum number of bytes of their values; nil for no limit.
  package let bytes: Int?
  let pattern: CapturePattern

  /// - Throws: When the pattern is none, or nothing is limited.
  package init(
    _ match: String, properties: Int? = nil, bytes: Int? = nil, limits: PathLimits = PathLimits()
  ) throws(RuleFault) {
    guard properties != nil || bytes != nil else {
      throw RuleFault(reason: "needs a number of properties, or of bytes, or both")
    }
    pattern = try CapturePattern(match, limits: limits)
    self.match = match
    self.properties = properties
    self.bytes = bytes
  }
}

/// How much of a quota is used, or by how much that changes.
package struct QuotaUse: Equatable, Sendable {
  /// The number of properties.
  package var properties = 0
  /// The bytes of their values.
  package var bytes = 0

  package init() {}

  /// What a property takes; nothing without one.
  package init(_ property: StoredValue?) {
    guard let property else { return }
    properties = 1
    bytes = property.computation == nil ? property.value.bytes.count : max(Self.failed, property.value.bytes.count)
  }

  /// What a property takes after an operation.
  init(after operation: PropertyStore.Operation) {
    switch operation.action {
    case .set(let value, _, _, _): (properties, bytes) = (1, value.bytes.count)
    case .define: self = .computed
    case .delete: break
    }
  }

  /// The bytes of `null`.
  private static let failed = 4

  /// What a computed property takes at least.
  static let computed: QuotaUse = {
    var use = QuotaUse()
    use.properties = 1
    use.bytes = failed
    return use
  }()

  static func + (a: QuotaUse, b: QuotaUse) -> QuotaUse {
    var sum = a
    sum.properties += b.properties
    sum.bytes += b.bytes
    return sum
  }

  static func - (a: QuotaUse, b: QuotaUse) -> QuotaUse {
    var difference = a
    difference.properties -= b.properties
    difference.bytes -= b.bytes
    return difference
  }

  var isZero: Bool { properties == 0 && bytes == 0 }
}

/// Why a quota does not admit an operation.
public final class QuotaExcess: Sendable, Equatable {
  /// What there would be too much of.
  public enum Measure: String, Sendable {
    /// Properties.
    case properties
    /// Bytes of their values.
    case bytes
  }

  /// The pattern of the quota.
  public let match: String
  /// What its captures are in the path of the operation, by their names.
  public let captures: [(name: String, text: String)]
  /// What there would be too much of.
  public let measure: Measure
  /// How much of it there may be.
  public let allowed: Int
  /// How much of it there is.
  public let used: Int
  /// How much would be added.
  public let added: Int
  /// What is counted together: the pattern with these captures.
  package let counted: PathPattern

  init(_ quota: Quota, _ path: PropertyPath, _ measure: Measure, allowed: Int, used: Int, added: Int) {
    match = quota.match
    captures = quota.pattern.captures.map { ($0.name, CapturePattern.text(at: $0.place, of: path)) }
    counted = quota.pattern.pattern(like: path) ?? quota.pattern.pattern
    self.measure = measure
    self.allowed = allowed
    self.used = used
    self.added = added
  }

  /// Whether all of it is the same.
  public static func == (a: QuotaExcess, b: QuotaExcess) -> Bool {
    a.match == b.match && a.captures.elementsEqual(b.captures) { $0 == $1 } && a.measure == b.measure
      && a.allowed == b.allowed && a.used == b.used && a.added == b.added
  }
}

extension QuotaExcess: CustomStringConvertible {
  /// One sentence for somebody who may see what is counted.
  public var description: String {
    "\(permission): there are \(used), and \(added) more would be too many."
  }

  /// The same for somebody who may not.
  package var withheld: String { "\(permission), and there would be more." }

  private var permission: String {
    let places = captures.map { "\($0.name) \"\($0.text)\"" }.joined(separator: ", ")
    let what =
      switch measure {
      case .properties: allowed == 1 ? "1 property" : "\(allowed) properties"
      case .bytes: allowed == 1 ? "1 byte of values" : "\(allowed) bytes of values"
      }
    return "The quota \"\(match)\" admits \(what)\(places.isEmpty ? "" : " for \(places)")"
  }
}
