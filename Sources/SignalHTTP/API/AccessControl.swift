// SPDX-License-Identifier: MIT
import SignalAccess

/// The access rules of a loop, and what they leave of themselves for each of its callers.
///
/// Shared by all requests and connections of the loop: other rules count for all of them at once.
final class AccessControl {
  private struct Key: Hashable {
    let identity: ObjectIdentifier?
    let request: RequestFacts?
  }

  private var index: RuleIndex?
  private var rights = RecentlyUsed<Key, Rights>(capacity: mostRights / 2)
  /// The maximum number of callers whose rights are remembered; those of others are calculated anew, which takes
  /// hundreds of times as long as to find them.
  private static let mostRights = 8192
  /// Those that were asked for last: one caller asks again and again.
  private var last: (key: Key, rights: Rights)?

  private let authenticator: Authenticator?

  /// - Parameter authenticator: Where callers can prove who they are.
  init(_ policy: AccessPolicy?, _ authenticator: Authenticator? = nil) {
    index = policy.map { RuleIndex($0) }
    self.authenticator = authenticator
  }

  /// The rules; nil: whoever reaches the server may do everything.
  var policy: AccessPolicy? { index?.policy }

  /// Whether somebody unknown could become known.
  var canIdentify: Bool { authenticator?.isActive == true }

  /// Replaces the rules.
  func set(_ policy: AccessPolicy?) {
    index = policy.map { RuleIndex($0) }
    rights = RecentlyUsed(capacity: Self.mostRights / 2)
    last = nil
  }

  /// Whether rights depend on more than who asks.
  var dependsOnRequest: Bool { policy?.usesRequest == true }

  /// What a caller may do; nil: everything.
  ///
  /// - Parameter request: Ignored unless the rules depend on it.
  func rights(of identity: Identity?, _ request: RequestFacts?) -> Rights? {
    guard let index else { return nil }
    // The rights hold the identity, so that another cannot have its address.
    let key = Key(
      identity: identity.map { ObjectIdentifier($0) }, request: index.policy.usesRequest ? request : nil)
    if let last, last.key == key { return last.rights }
    if let found = rights.find(key) {
      last = (key, found)
      return found
    }
    let made = Rights(index, identity, key.request)
    rights.insert(made, for: key)
    last = (key, made)
    return made
  }
}
