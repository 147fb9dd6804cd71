// SPDX-License-Identifier: MIT
package import SignalStore
import JSON
import Synchronization

/// Finds out who a caller is from what it has been given; shared by all loops.
///
/// Its files can be read again while it is in use: what follows is judged by their new content, all of it or none.
package final class Authenticator: Sendable {
  private struct State {
    var current = Credentials()
    /// Sets of keys by the URL that they were fetched from.
    var fetched: [String: [VerificationKey]] = [:]
    var observers: [@Sendable () -> Void] = []
    var unknownKey: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let activity = Atomic(false)
  private let changes = Atomic<UInt64>(0)
  /// Tickets that callers of this server have asked for.
  package let tickets = Tickets()

  /// Accepts nothing, until settings are applied.
  package init() {}

  /// Reads the files of settings.
  package convenience init(_ settings: AuthenticationSettings) throws(IdentityError) {
    self.init()
    try apply(settings)
  }

  /// Whether anything is accepted or asked for; a caller looks at nothing else when not.
  package var isActive: Bool { activity.load(ordering: .relaxed) }

  /// Another number after each change of what callers are judged by.
  package var generation: UInt64 { changes.load(ordering: .acquiring) }

  /// What callers are judged by at the moment.
  package var current: Credentials { state.withLock { $0.current } }

  /// Reads the files of settings, and judges by them from now on.
  ///
  /// - Throws: When one of them cannot be used; nothing is changed then.
  package func apply(_ settings: AuthenticationSettings) throws(IdentityError) { apply(try ReadFiles(settings)) }

  /// Judges from now on by files that have been read.
  package func apply(_ files: ReadFiles) {
    change { state in
      state.fetched = state.fetched.filter { files.settings.urls.contains($0.key) }
      state.current = Credentials(files, fetched: state.fetched)
    }
  }

  /// What the files of settings hold.
  package struct ReadFiles {
    fileprivate let settings: AuthenticationSettings
    fileprivate let tokens: TokenFile
    fileprivate let keys: [VerificationKey]

    /// - Throws: When one of them cannot be used.
    package init(_ settings: AuthenticationSettings) throws(IdentityError) {
      self.settings = settings
      tokens = settings.tokens.isEmpty ? TokenFile() : try TokenFile(reading: settings.tokens)
      var keys: [VerificationKey] = []
      for source in settings.keys { keys += try source.read() }
      self.keys = keys
    }
  }

  /// Uses a set of keys that has been fetched from a URL of the settings; nil when the last one is too old.
  package func use(_ keys: [VerificationKey]?, from url: String) {
    let isChanged = state.withLock { state in
      state.current.settings.urls.contains(url)
        && state.fetched[url]?.map(\.identification) != keys?.map(\.identification)
    }
    guard isChanged else { return }
    change { state in
      state.fetched[url] = keys
      state.current = Credentials(state.current, fetched: state.fetched)
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let (observers, isActive) = state.withLock { state in
      body(&state)
      return (state.observers, state.current.settings.isActive)
    }
    activity.store(isActive, ordering: .relaxed)
    changes.add(1, ordering: .releasing)
    for observer in observers { observer() }
  }

  /// Calls `body` after each change of what callers are judged by, from whichever thread makes it, for as long as the
  /// process runs.
  package func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

  /// Calls `body` when a token names a key that is not known, which may be in the next set of keys.
  package func observeUnknownKeys(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.unknownKey = body } }

  /// Who a token, or a JSON Web Token, says the caller is.
  package func identity(of text: Span<UInt8>, at now: Timestamp = .now) throws(TokenFault) -> Identity {
    let current = current
    do throws(TokenFault) {
      return try current.identity(of: text, at: now)
    } catch {
      if error == .unknown, !current.settings.urls.isEmpty, !Token.hasPrefix(text) {
        state.withLock { $0.unknownKey }?()
      }
      throw error
    }
  }
}

/// What callers are judged by: the settings, and what their files hold.
package final class Credentials: Sendable {
  package let settings: AuthenticationSettings
  private let tokens: [String: (entry: TokenFile.Entry, identity: Identity)]
  /// Those of files; those that were fetched come after them in ``verifier``.
  private let keys: [VerificationKey]
  private let verifier: TokenVerifier?

  fileprivate init() {
    settings = AuthenticationSettings()
    tokens = [:]
    keys = []
    verifier = nil
  }

  fileprivate init(_ files: Authenticator.ReadFiles, fetched: [String: [VerificationKey]]) {
    settings = files.settings
    tokens = Dictionary(uniqueKeysWithValues: files.tokens.entries.map { ($0.id, ($0, Identity($0))) })
    keys = files.keys
    verifier = Self.verifier(settings, keys, fetched)
  }

  /// The tokens of the file.
  package var tokenEntries: [TokenFile.Entry] { tokens.values.map(\.entry) }

  /// The same with other fetched keys.
  fileprivate init(_ other: Credentials, fetched: [String: [VerificationKey]]) {
    settings = other.settings
    tokens = other.tokens
    keys = other.keys
    verifier = Self.verifier(settings, keys, fetched)
  }

  private static func verifier(
    _ settings: AuthenticationSettings, _ keys: [VerificationKey], _ fetched: [String: [VerificationKey]]
  ) -> TokenVerifier? {
    guard !settings.keys.isEmpty else { return nil }
    return TokenVerifier(keys + settings.urls.flatMap { fetched[$0] ?? [] }, settings.requirements)
  }

  fileprivate func identity(of text: Span<UInt8>, at now: Timestamp) throws(TokenFault) -> Identity {
    guard Token.hasPrefix(text) else {
      guard let verifier else { throw .unknown }
      return try verifier.identity(of: text, at: now)
    }
    guard text.count <= Token.mostBytes else { throw .tooLong }
    guard let id = Token.id(in: text) else { throw .malformed }
    let digest = Digest(of: text)
    guard let (entry, identity) = tokens[id], entry.digest.isSame(as: digest) else { throw .unknown }
    guard identity.isAccepted(at: now) else { throw .expired }
    return identity
  }

  /// Whether an identity that was proven before is still accepted: its token or its key is there as it was, and its time
  /// is not over.
  package func confirms(_ identity: Identity, at now: Timestamp = .now) -> Bool {
    guard identity.isAccepted(at: now) else { return false }
    return switch identity.proof {
    case .token(let entry): tokens[entry.id]?.entry == entry
    case .key(let key, let requirements): verifier?.accepts(key, requirements) ?? false
    case .connection: true
    }
  }
}

extension Identity {
  /// Who somebody with a token of the file is.
  fileprivate convenience init(_ entry: TokenFile.Entry) {
    self.init(
      .token, id: entry.id, claims: JSONTree(entry.claims), expires: entry.expires, leeway: 0, proof: .token(entry))
  }
}

extension VerificationKey {
  /// What has to be equal for two keys to be used alike.
  fileprivate var identification: [[UInt8]] { [id ?? [], Array(fingerprint.hexadecimal.utf8)] }
}

extension AuthenticationSettings.KeySource {
  /// The keys of a file; none for a URL, whose keys are fetched later.
  fileprivate func read() throws(IdentityError) -> [VerificationKey] {
    switch self {
    case .pem(let file, let algorithm):
      let bytes = try SecretFile.read(file, atMost: 64 << 10, readers: .anybody)
      return try checking(file) { () throws(VerificationKey.Fault) in
        [try VerificationKey(pem: bytes, algorithm: algorithm)]
      }
    case .secret(let file):
      var bytes = try SecretFile.read(file, atMost: VerificationKey.mostSecretBytes + 2, readers: .ownerOnly)
      // Of a text; random bytes may end with one by chance.
      if bytes.last == UInt8(ascii: "\n"), bytes.dropLast().allSatisfy({ (0x20..<0x7F).contains($0) }) {
        bytes.removeLast()
      }
      return try checking(file) { () throws(VerificationKey.Fault) in [try VerificationKey(secret: bytes)] }
    case .keySet(let file):
      let bytes = try SecretFile.read(file, atMost: JSONWebKeySet.mostBytes, readers: .anybody)
      let set = try checking(file) { () throws(VerificationKey.Fault) in try JSONWebKeySet(bytes) }
      if set.hasSecret { _ = try SecretFile.read(file, atMost: JSONWebKeySet.mostBytes, readers: .ownerOnly) }
      return set.keys
    case .url: return []
    }
  }

  private func checking<Result>(
    _ file: String, _ body: () throws(VerificationKey.Fault) -> Result
  ) throws(IdentityError) -> Result {
    do throws(VerificationKey.Fault) {
      return try body()
    } catch {
      throw IdentityError(file, error.reason)
    }
  }
}
