// SPDX-License-Identifier: MIT

/// What a request asks for (RFC 9110 §9): one of the registered methods, or any other token.
///
/// Methods are case-sensitive: `get` is not `GET`.
public struct HTTPMethod: Hashable, Sendable, CustomStringConvertible {
  package enum Known: UInt8, CaseIterable, Sendable {
    case get, head, post, put, delete, connect, options, trace, patch
  }

  private enum Storage: Hashable {
    case known(Known)
    case other(String)
  }

  private let storage: Storage

  package init(_ known: Known) { storage = .known(known) }

  /// The method of this name, or nil if it is not a token.
  public init?(_ name: String) {
    let storage: Storage? = Array(name.utf8).withView { view in
      if let known = Known(view) { return .known(known) }
      return view.isToken ? .other(name) : nil
    }
    guard let storage else { return nil }
    self.storage = storage
  }

  /// The method of a request line that has been checked to be a token.
  init(token: ByteView) { storage = .other(token.string) }

  /// Transfer a current representation (RFC 9110 §9.3.1).
  public static var get: HTTPMethod { HTTPMethod(.get) }
  /// Like GET, without the content (RFC 9110 §9.3.2).
  public static var head: HTTPMethod { HTTPMethod(.head) }
  /// Process the content in the resource's own way (RFC 9110 §9.3.3).
  public static var post: HTTPMethod { HTTPMethod(.post) }
  /// Replace the resource by the content (RFC 9110 §9.3.4).
  public static var put: HTTPMethod { HTTPMethod(.put) }
  /// Remove the resource (RFC 9110 §9.3.5).
  public static var delete: HTTPMethod { HTTPMethod(.delete) }
  /// Open a tunnel (RFC 9110 §9.3.6).
  public static var connect: HTTPMethod { HTTPMethod(.connect) }
  /// Describe the communication options of the resource (RFC 9110 §9.3.7).
  public static var options: HTTPMethod { HTTPMethod(.options) }
  /// Send the request back (RFC 9110 §9.3.8).
  public static var trace: HTTPMethod { HTTPMethod(.trace) }
  /// Change the resource as the content says (RFC 5789).
  public static var patch: HTTPMethod { HTTPMethod(.patch) }

  /// The registered method, for an exhaustive switch; nil for any other token.
  package var known: Known? {
    if case .known(let known) = storage { known } else { nil }
  }

  /// The name as it is on the wire.
  public var name: String {
    switch storage {
    case .known(let known): known.literal.description
    case .other(let name): name
    }
  }

  /// The name as it is on the wire.
  public var description: String { name }

  /// Whether the method is safe: it requests no change (RFC 9110 §9.2.1); false for unregistered ones.
  public var isSafe: Bool {
    switch known {
    case .get, .head, .options, .trace: true
    default: false
    }
  }

  /// Whether the method is idempotent: repeating a request has the effect of one (RFC 9110 §9.2.2); false for
  /// unregistered ones.
  public var isIdempotent: Bool { isSafe || known == .put || known == .delete }
}

extension HTTPMethod.Known {
  package var literal: StaticString {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .connect: "CONNECT"
    case .options: "OPTIONS"
    case .trace: "TRACE"
    case .patch: "PATCH"
    }
  }

  /// Recognises a registered method, case-sensitively; nil for anything else.
  package init?(_ name: ByteView) {
    guard name.count >= 3 else { return nil }
    // Length and one letter leave one candidate, which is then compared in full.
    let candidate: HTTPMethod.Known
    switch (name.count, name.byte(at: 1)) {
    case (3, UInt8(ascii: "E")): candidate = .get
    case (3, UInt8(ascii: "U")): candidate = .put
    case (4, UInt8(ascii: "O")): candidate = .post
    case (4, UInt8(ascii: "E")): candidate = .head
    case (5, UInt8(ascii: "A")): candidate = .patch
    case (5, UInt8(ascii: "R")): candidate = .trace
    case (6, UInt8(ascii: "E")): candidate = .delete
    case (7, UInt8(ascii: "P")): candidate = .options
    case (7, UInt8(ascii: "O")): candidate = .connect
    default: return nil
    }
    guard name.equals(candidate.literal) else { return nil }
    self = candidate
  }
}
