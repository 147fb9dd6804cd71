// SPDX-License-Identifier: MIT

public import JSON
public import SignalStore

/// A property as the server had it at its last change.
public struct RemoteEntry: Sendable, Equatable {
  /// The value.
  public let value: JSONText
  /// The revision of the change.
  public let revision: UInt64
  /// The store that counted the revision, one life of it.
  let epoch: String
  /// When it was, as the server wrote it; nil when it did not.
  public let time: String?
  /// When it ends by itself, likewise.
  public let expires: String?

  /// What a condition takes: the epoch, a dot, and the revision.
  public var cursor: String { "\(epoch).\(revision)" }

  init(_ value: JSONText, _ revision: UInt64, _ epoch: String, _ event: Members) {
    self.value = value
    self.revision = revision
    self.epoch = epoch
    time = event.string("time")
    expires = event.string("expires")
  }
}

/// One change that a ``RemoteWatch`` tells.
public struct RemoteChange: Sendable, Equatable {
  /// What has happened.
  public enum Kind: String, Sendable {
    /// It has a new value.
    case set = "didSet"
    /// It was removed.
    case delete = "didDelete"
    /// Its time was over.
    case expire = "didExpire"
    /// It is not shown any more: it no longer matches the filter, or may not be seen.
    case exit = "didExit"
  }

  /// What has happened.
  public let kind: Kind
  /// The property.
  public let path: PropertyPath
  /// The value now; nil when there is none, or it is not known.
  public let value: JSONText?
  /// The value before, as far as it is known.
  public internal(set) var oldValue: JSONText?
  /// The revision; nil for what a snapshot does not hold any more.
  public let revision: UInt64?
  /// When it was, as the server wrote it; nil when it did not.
  public let time: String?
  /// Whether the value before did not match the filter.
  public let hasEntered: Bool
  /// How it left the filter: `set`, `delete` or `expire`.
  public let operation: String?
  /// Why it is gone: `ttl`, `access` or another reason of the protocol.
  public let reason: String?

  /// What an event says.
  init(_ kind: Kind, _ path: PropertyPath, _ event: Members) {
    self.kind = kind
    self.path = path
    value = event.text("value")
    oldValue = event.text("oldValue")
    revision = event.number("revision")
    time = event.string("time")
    hasEntered = event.bool("entered") ?? false
    operation = event.string("op")
    reason = event.string("reason")
  }

  /// The end of what a snapshot does not hold any more.
  init(gone path: PropertyPath, _ kind: Kind, old: JSONText) {
    self.kind = kind
    self.path = path
    value = nil
    oldValue = old
    revision = nil
    time = nil
    hasEntered = false
    operation = nil
    reason = nil
  }
}

/// A message that was sent through a signal.
public struct RemoteMessage: Sendable, Equatable {
  /// The signal.
  public let path: PropertyPath
  /// What was sent.
  public let message: JSONText
  /// When, as the server wrote it.
  public let time: String?
  /// Whether it was sent before, and kept.
  public let isRemembered: Bool
}
