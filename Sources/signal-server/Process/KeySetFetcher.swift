// SPDX-License-Identifier: MIT
import Dispatch
import Logging
import SignalAccess
import SignalHTTP
import SignalJournal
import Synchronization

/// Fetches the JSON Web Key Sets of the settings, on a thread of its own, as long as the process runs.
final class KeySetFetcher: Sendable {
  /// The time between two fetches.
  static let interval = Duration.seconds(600)
  /// The shortest time between two fetches, however many tokens name unknown keys.
  static let shortestInterval = Duration.seconds(30)
  /// For how long the last good set is used when no other can be had.
  static let lifetime = Duration.seconds(24 * 3600)
  /// How long one fetch may take.
  static let patience = Duration.seconds(10)

  private let authenticator: Authenticator
  private let logger: Logger
  private let trust: TLSContext?
  private let thread = WorkerThread()
  private let isAsked = Atomic(false)
  private let asked = DispatchSemaphore(value: 0)
  /// When each URL last gave a good set.
  private let fetched = Mutex<[String: ContinuousClock.Instant]>([:])

  /// - Parameter trust: Whom to trust; nil for the system's authorities.
  init(_ authenticator: Authenticator, _ logger: Logger, trust: TLSContext? = nil) {
    self.authenticator = authenticator
    self.logger = logger
    self.trust = trust
  }

  /// Begins to fetch, if the settings name a URL.
  func begin() {
    guard !authenticator.current.settings.urls.isEmpty else { return }
    authenticator.observeUnknownKeys { [self] in
      if !isAsked.exchange(true, ordering: .acquiringAndReleasing) { asked.signal() }
    }
    thread.start { [self] in
      while true {
        fetchAll()
        // Not before: somebody who sends tokens with names that nobody knows must not make the server fetch all the time.
        ProcessClock.sleep(Self.shortestInterval)
        let rest = Self.interval - Self.shortestInterval
        _ = asked.wait(timeout: .now() + .seconds(Int(rest.components.seconds)))
      }
    }
  }

  /// Fetches all sets once.
  func fetchAll() {
    isAsked.store(false, ordering: .releasing)
    for url in authenticator.current.settings.urls {
      do throws(IdentityError) {
        let keys = try fetch(url)
        fetched.withLock { $0[url] = .now }
        authenticator.use(keys, from: url)
      } catch {
        logger.warning("keys cannot be fetched", metadata: ["reason": "\(error.description.printable)"])
        let isOver = fetched.withLock { fetched in
          guard let time = fetched[url], time.duration(to: .now) > Self.lifetime else { return false }
          fetched[url] = nil
          return true
        }
        guard isOver else { continue }
        logger.error(
          "the keys are not used any more: none could be fetched for a day", metadata: ["url": "\(url.withoutQueries)"])
        authenticator.use(nil, from: url)
      }
    }
  }

  private func fetch(_ url: String) throws(IdentityError) -> [VerificationKey] {
    guard let place = KeySetURL(url) else { throw IdentityError(url.withoutQueries, "is not a URL with https") }
    let response: HTTPClientResponse
    do throws(ClientError) {
      response = try HTTPClient(place.endpoint, tls: trust, timeout: Self.patience).request(
        "GET", place.target, fields: [("Accept", "application/jwk-set+json, application/json")],
        timeout: Self.patience, limit: JSONWebKeySet.mostBytes)
    } catch {
      throw IdentityError(url.withoutQueries, "\(error)")
    }
    guard response.status == 200 else { throw IdentityError(url.withoutQueries, "answers with \(response.status)") }
    let set: JSONWebKeySet
    do throws(VerificationKey.Fault) {
      set = try JSONWebKeySet(response.body)
    } catch {
      throw IdentityError(url.withoutQueries, error.reason)
    }
    // A secret belongs into a file.
    guard !set.hasSecret else { throw IdentityError(url.withoutQueries, "has a shared secret") }
    return set.keys
  }
}

/// The URL of a JSON Web Key Set, in two parts.
struct KeySetURL {
  let endpoint: Endpoint
  /// Path and query.
  let target: String

  /// Reads `https://host:port/path?query`; nil for anything else.
  init?(_ text: String) {
    guard text.hasPrefix("https://"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("#") else {
      return nil
    }
    let rest = text.dropFirst("https://".count)
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    guard let endpoint = try? Endpoint("https://\(rest[..<end])", lowestPort: 1) else { return nil }
    self.endpoint = endpoint
    target = end == rest.endIndex ? "/" : String(rest[end...])
  }
}
