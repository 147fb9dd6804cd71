// SPDX-License-Identifier: MIT
public import CEL
public import JSON
package import SignalAccess
public import SignalStore

/// Limits of the live service: what one client may ask of it.
public struct LiveLimits: Sendable, Equatable {
  /// Subscriptions of one WebSocket.
  ///
  /// Default 128.
  public var subscriptionsPerConnection = 128
  /// Patterns of one subscription.
  ///
  /// Default 32.
  public var patternsPerSubscription = 32
  /// Properties of a page of the list when the client does not specify a number.
  ///
  /// Default 100.
  public var listDefault = 100
  /// Properties of a page of the list at most.
  ///
  /// Default 1000.
  public var listLimit = 1000
  /// Bytes after which a page of the list ends early.
  ///
  /// Default 4 MiB; the last property may exceed it.
  public var listBytes = 4 << 20
  /// Properties examined for one page of the list, and for one piece of a snapshot, before other work is done.
  ///
  /// Default 10 000.
  public var turnProperties = 10_000
  /// Bytes of a snapshot that are generated at a time, as the socket takes them.
  ///
  /// Default 64 KiB; the last property may exceed it.
  public var snapshotBytes = 64 << 10
  /// Operations that a connection may register for its end.
  ///
  /// Default 32.
  public var disconnectOperations = 32
  /// Operations of one JSON Patch.
  ///
  /// Default 1000.
  public var patchOperations = JSONPatch.Limits().operations
  /// Elements and members that the operations of one JSON Patch may traverse, compare or move.
  ///
  /// Default 600 000, some milliseconds.
  public var patchWork = JSONPatch.Limits().work
  /// What one evaluation of a filter or of a condition may cost, in the units of `CELLimits.budget`, which bounds it as
  /// well, and alone bounds formulas.
  ///
  /// Default 50 000, about half a millisecond.
  public var filterBudget = 50_000
  /// Work of one list or one explanation: evaluations, examined properties, bytes written, in the units of
  /// `CELLimits.budget`.
  ///
  /// Default 5 000 000, some 50 ms, in slices of ``Limits/turnWork``; at the limit a page ends early, and an
  /// explanation does not contain `all`.
  public var requestWork = 5_000_000
  /// What the expensive filters of one connection may cost per second, and at most at once; above that they fail.
  ///
  /// Default 5 000 000, about a twentieth of a processor.
  public var filterWork = 5_000_000
  /// The same for the filters of all connections of a loop, and for the conditions of waiting requests.
  ///
  /// Default 30 000 000, about a third of a processor.
  public var loopFilterWork = 30_000_000
  /// A filter counts as expensive when an evaluation costs more than this.
  ///
  /// Default 2000, about 20 µs.
  public var cheapFilterWork = 2000
  /// The longest time that a request may wait for a property to change.
  ///
  /// Default 5 minutes.
  public var waitLimit: Duration = .seconds(300)
  /// Silence of a subscription after which it is sent a bookmark.
  ///
  /// Default 15 s.
  public var bookmarkInterval: Duration = .seconds(15)
  /// The shortest silence that a subscription can ask for.
  ///
  /// Default 1 s.
  public var shortestBookmark: Duration = .seconds(1)
  /// The longest silence that a subscription can ask for.
  ///
  /// Default 1 h.
  public var longestBookmark: Duration = .seconds(3600)
  /// The shortest time between two events of a path that a `maxRate` can ask for; a shorter one is raised to this.
  ///
  /// Default 1 ms, as fine as the timers of a loop.
  public var shortestPace: Duration = .milliseconds(1)
  /// The longest delay of a value that a `maxRate` can cause; a longer one is reduced to this.
  ///
  /// Default 60 s.
  public var longestPace: Duration = .seconds(60)
  /// Bytes kept for one lagging subscription: the newest event of each path.
  ///
  /// Default 8 MiB, above which the client is disconnected.
  public var conflatedBytes = 8 << 20
  /// Paths whose last sent value a subscription with a deadband remembers.
  ///
  /// Default 100 000; when there are more, all are forgotten and the next change of each is sent.
  public var deadbandPaths = 100_000

  /// All defaults.
  public init() {}
}

/// How properties are served: over REST, WebSocket and server-sent events.
public struct LiveConfiguration: Sendable, Equatable {
  /// Names and addresses that requests may use for the server, besides those it listens on and the loopback interface's
  /// own: `signals.example.com`, without a port, or `*` for any.
  public var hosts: [String]
  /// Origins of pages, besides the server's own, that may write and subscribe: `https://example.com`, or `*` for any.
  public var origins: [String]
  /// Whether the console is served, at `/console`.
  ///
  /// Default true: it has no power that the API does not give to whoever uses it.
  public var console = true
  /// What one client may ask for.
  public var limits: LiveLimits
  /// Limits of a value.
  ///
  /// The depth also bounds the messages around it.
  public var values: JSONLimits
  /// Limits of a path.
  public var paths: PathLimits
  /// Limits of an expression.
  public var expressions: CELLimits
  /// Whether what the server counts is told at `/metrics`.
  ///
  /// Default true.
  public var metrics = true
  /// Who may do what; nil: whoever reaches the server may do everything.
  package var policy: AccessPolicy?

  /// A configuration in which everything has its default unless given.
  public init(
    hosts: [String] = [], origins: [String] = [], limits: LiveLimits = LiveLimits(), values: JSONLimits = JSONLimits(),
    paths: PathLimits = PathLimits(), expressions: CELLimits = CELLimits()
  ) {
    self.hosts = hosts
    self.origins = origins
    self.limits = limits
    self.values = values
    self.paths = paths
    self.expressions = expressions
  }

  /// The limits for parsing a text that contains values, and whose size has been checked already.
  ///
  /// - Parameter levels: How many arrays and objects enclose a value.
  func texts(bytes: Int, levels: Int) -> JSONLimits {
    var limits = values
    limits.bytes = bytes
    limits.depth += levels
    return limits
  }
}
