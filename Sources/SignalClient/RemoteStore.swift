// SPDX-License-Identifier: MIT

import JSON
import SignalHTTP
public import SignalStore
public import Signals
import Synchronization

/// Whether what is shown is what the server has.
public enum RemoteState: String, Sendable {
  /// Nothing is known yet.
  case connecting
  /// It is.
  case live
  /// It was so when the connection was lost, which is being made again.
  case stale
  /// It was so, and nothing more will come.
  case closed
}

/// The properties of a Signal Server in another process, perhaps on another machine.
///
/// ```swift
/// let store = try RemoteStore("http://localhost:8080")
/// let temperature = store.property("kitchen/temperature", as: Double.self)
/// let subscription = temperature.subscribe { print($0 ?? .nan) }
/// temperature.value = 21.5
/// ```
///
/// It connects by itself, and again when the connection breaks, with growing and random delays. Commands wait for a
/// connection, but no longer than ``Configuration/timeout``. Subscriptions resume where they were, so that nothing is
/// missing and nothing told twice. One that was sent when the connection broke fails as ``RemoteError/Outcome/unknown``,
/// and is not repeated.
///
/// Everything happens on an event loop of its own, which ends when nobody keeps the store, a property or a subscription of
/// it.
public final class RemoteStore: Sendable {
  /// How a store connects.
  public struct Configuration: Sendable {
    /// For the reply to a command, for a connection, and for the server to say who it is.
    public var timeout = Duration.seconds(10)
    /// After so much silence the server is asked whether it is there.
    public var silence = Duration.seconds(20)
    /// The first delay before another connection; it doubles with each, and half of each is random.
    public var minDelay = Duration.milliseconds(500)
    /// The longest delay.
    public var maxDelay = Duration.seconds(30)
    /// The longest message that is taken, in bytes; a longer one ends the store.
    public var messageBytes = 64 << 20
    /// Commands without a reply, those that wait for a connection included; one more fails as `too_many_commands`, unsent.
    public var pendingCommands = 100_000
    /// A file of certificates in PEM that are trusted for `https`; nil are those of the system.
    public var authorities: String?

    /// The defaults.
    public init() {}
  }

  /// The properties in use.
  private final class CellTable: Sendable {
    struct State {
      var last: UInt64 = 0
      var byPath: [PropertyPath: (id: UInt64, cell: WeakCell)] = [:]
    }

    let state = Mutex(State())

    /// Forgets a property, unless there is another one at its path by now.
    func remove(_ cell: PropertyCell) {
      state.withLock { if $0.byPath[cell.path]?.id == cell.id { $0.byPath[cell.path] = nil } }
    }
  }

  private let session: RemoteSession
  private let cells = CellTable()

  /// Begins to connect.
  ///
  /// - Parameters:
  ///   - url: `http://host:port`, `https://host:port` or `unix:/path`.
  ///   - token: how to say who this is; nil for nobody.
  /// - Throws: ``RemoteError`` when the URL is none, or the file of certificates cannot be read.
  public init(
    _ url: String, token: RemoteToken? = nil, configuration: Configuration = Configuration()
  ) throws(RemoteError) {
    let endpoint: Endpoint
    do throws(EndpointError) { endpoint = try Endpoint(url, lowestPort: 1) } catch {
      throw RemoteError("bad_url", "'\(url)' \(error.reason)")
    }
    var tls: TLSContext?
    if let authorities = configuration.authorities {
      do throws(TLSError) { tls = try TLSContext(trusting: authorities) } catch {
        throw RemoteError("bad_certificates", error.description)
      }
    }
    let loop: EventLoop
    do throws(SystemError) { loop = try EventLoop.forClient(label: "signal.client") } catch {
      throw RemoteError("unreachable", error.description)
    }
    session = RemoteSession(endpoint, tls, token, configuration, loop)
    session.put(.call { session, loop in session.connect(on: loop) })
  }

  deinit { close() }

  /// Ends the connection; commands without a reply fail, and nothing more is told.
  public func close() { session.put(.call { session, loop in session.end(nil, on: loop) }) }

  /// Whether what is shown is what the server has.
  public var state: DerivedProperty<RemoteState> { session.state.readOnly }

  /// Why it is closed; nil when it is not, or when it was closed here.
  public var error: RemoteError? { session.error.withLock { $0 } }

  /// Sends what fails where nobody waits, such as a refused token, or an attempt to connect.
  public var errors: DerivedSignal<RemoteError, Never> { session.errors.readOnly }

  // MARK: Properties and subscriptions

  /// The property at a path, with a Swift type.
  public func property<Value: Codable & Sendable>(
    _ path: PropertyPath, as type: Value.Type = Value.self
  ) -> RemoteProperty<Value> {
    RemoteProperty(self, path)
  }

  /// All properties that match, kept up to date.
  ///
  /// - Parameters:
  ///   - patterns: docs/protocol.md §1 has their form: `kitchen/**`.
  ///   - onChange: Called with the changes of each revision from the first on, on the loop of the store.
  public func watch(
    _ patterns: [String], _ options: WatchOptions = WatchOptions(),
    onChange: (@Sendable ([RemoteChange]) -> Void)? = nil
  ) -> RemoteWatch {
    RemoteWatch(
      self, session, options.command("match", patterns), hasFilter: options.filter != nil,
      initial: options.initial ?? true, take: options.take,
      onChange: onChange)
  }

  /// The messages of all signals that match.
  ///
  /// - Parameter onMessage: Called with each message from the first on, on the loop of the store.
  public func listen(
    _ patterns: [String], _ options: WatchOptions = WatchOptions(),
    onMessage: (@Sendable (RemoteMessage) -> Void)? = nil
  ) -> RemoteListener {
    RemoteListener(self, session, options.command("signals", patterns), take: options.take, onMessage: onMessage)
  }

  /// What all the properties of a path share.
  func cell(_ path: PropertyPath) -> PropertyCell {
    cells.state.withLock { table in
      if let cell = table.byPath[path]?.cell.cell { return cell }
      table.last += 1
      let cell = PropertyCell(path, session, id: table.last) { [weak cells] gone in cells?.remove(gone) }
      table.byPath[path] = (table.last, WeakCell(cell))
      return cell
    }
  }

  // MARK: For the commands

  /// Gives a command to the loop.
  func send(
    _ members: [UInt8], effect: PendingCommand.Effect = .none, timeout: Duration? = nil,
    _ done: @escaping RemoteTransaction.Settle
  ) {
    let session = session
    guard session.takePlace() else {
      return done(.failure(RemoteError("too_many_commands", "so many commands wait for their replies", .unsent)))
    }
    session.put(
      .command(
        PendingCommand(members, effect: effect, timeout: timeout) { [weak session] result, _ in
          session?.leavePlace()
          done(result)
        }))
  }
}
