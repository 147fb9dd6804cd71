// SPDX-License-Identifier: MIT

/// Clients on event loops of their own, for measuring a server: thousands of connections from a few threads.
///
/// Used from one thread, which may block; the clients run on the loops.
package final class LoadGenerator: Sendable {
  /// Why no load could be generated.
  package enum Failure: Error {
    /// The system has no resources for a loop.
    case system(SystemError)
    /// The server cannot be reached.
    case client(ClientError)
  }

  /// One loop with its driver, which belongs to it.
  private struct Lane: Sendable {
    let loop: EventLoop
    let place: DriverPlace
  }

  private let lanes: [Lane]
  private let server: Endpoint
  private let tls: TLSContext?
  private let fields: [(String, String)]
  private let connections: LoopConnections

  /// Creates idle loops.
  ///
  /// - Parameters:
  ///   - tls: The trusted authorities, for a server with TLS; the system's unless given.
  ///   - fields: Further fields of the handshakes of watchers.
  ///   - pace: That of each loop.
  ///   - makeRequest: The bytes of a request, from its number on its loop and the monotonic time in nanoseconds.
  package init(
    _ server: Endpoint, tls: TLSContext? = nil, fields: [(String, String)] = [], loops: Int,
    pace: (_ loop: Int) -> LoadPace,
    makeRequest: @escaping @Sendable (_ loop: Int, _ number: Int, _ now: UInt64) -> [UInt8]
  ) throws(Failure) {
    self.server = server
    self.tls = tls
    self.fields = fields
    var limits = Limits()
    limits.highWaterMark = 64 << 20
    connections = LoopConnections(limits: limits)
    var lanes: [Lane] = []
    do throws(SystemError) {
      for index in 0..<max(1, loops) {
        let loop = try EventLoop(label: "signal.load.\(index)", sweepMilliseconds: 1000)
        let place = DriverPlace()
        loop.submit { [pace = pace(index)] _ in
          place.driver = LoadDriver(pace: pace) { number, now in makeRequest(index, number, now) }
        }
        lanes.append(Lane(loop: loop, place: place))
      }
    } catch {
      for lane in lanes { lane.loop.submit { $0.stop() } }
      throw .system(error)
    }
    self.lanes = lanes
  }

  // MARK: Connecting

  /// Connects clients that send requests; they begin with ``begin()``.
  ///
  /// - Parameter lane: Their loop; nil spreads them over all.
  package func connectRequesters(_ count: Int, lane: Int? = nil) throws(Failure) {
    for index in 0..<count {
      let socket = try connect()
      let lane = lanes[(lane ?? index) % lanes.count]
      lane.loop.submit { [connections, place = lane.place] loop in
        guard let driver = place.driver else { return }
        let session = RequestSession(driver)
        guard let connection = Self.adopt(socket, session, connections, on: loop) else { return }
        session.begin(connection, on: loop)
      }
    }
  }

  /// Connects one client that watches a target, such as `/events?match=**`.
  ///
  /// - Parameters:
  ///   - index: Spreads the watchers over the loops.
  ///   - once: Whether it closes when its snapshot is complete, which is then recorded as an answer.
  package func connectWatcher(_ index: Int, target: String, once: Bool = false) throws(Failure) {
    let begun = monotonicNanoseconds()
    let socket = try connect()
    let lane = lanes[index % lanes.count]
    lane.loop.submit { [connections, server, fields, place = lane.place] loop in
      guard let driver = place.driver else { return }
      let session = WatchSession(driver, begun: once ? begun : nil)
      guard let connection = Self.adopt(socket, session, connections, on: loop) else { return }
      session.begin(connection, host: server.authority, target: target, fields, on: loop)
    }
  }

  private func connect() throws(Failure) -> ConnectedSocket {
    do throws(ClientError) {
      return try BlockingSocket.open(server, tls, Deadline(after: .seconds(10))).release()
    } catch {
      throw .client(error)
    }
  }

  private static func adopt(
    _ socket: ConnectedSocket, _ session: any Session, _ connections: LoopConnections, on loop: isolated EventLoop
  ) -> Connection? {
    connections.count.add()
    return try? Connection.adopt(
      Transport(socket, loop.sealedBuffers), of: .ofOutgoing, session: session, connections: connections, on: loop)
  }

  // MARK: Running

  /// Starts the requests.
  package func begin() {
    for lane in lanes { lane.loop.submit { [place = lane.place] loop in place.driver?.begin(on: loop) } }
  }

  /// Starts the requests that are due; with a rate it has to be called often.
  package func pump() {
    for lane in lanes { lane.loop.submit { [place = lane.place] loop in place.driver?.pump(on: loop) } }
  }

  /// Stops starting requests; connections that end from now on are not failures.
  package func end() {
    for lane in lanes { lane.loop.submit { [place = lane.place] _ in place.driver?.end() } }
  }

  /// The totals of all loops so far; waits for the loops.
  package func counts() async -> LoadCounts {
    var all = LoadCounts()
    for lane in lanes {
      all.add(
        await withCheckedContinuation { continuation in
          lane.loop.submit { [place = lane.place] _ in
            continuation.resume(returning: place.driver?.counts ?? LoadCounts())
          }
        })
    }
    return all
  }

  /// Closes all connections and stops the loops.
  package func stop() async {
    end()
    for lane in lanes {
      await withCheckedContinuation { continuation in
        lane.loop.submit { loop in
          loop.drain(within: .milliseconds(200)) { continuation.resume() }
        }
      }
      lane.loop.submit { $0.stop() }
    }
  }
}

/// Holds the driver of a loop.
// Unchecked: accessed only in work submitted to its loop, which runs one piece at a time.
private final class DriverPlace: @unchecked Sendable {
  var driver: LoadDriver?
}
