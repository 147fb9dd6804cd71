// SPDX-License-Identifier: MIT
import ArgumentParser

/// What `bench` can measure.
enum BenchScenario: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// Sets of many properties, by many connections.
  case set
  /// Reads of many properties, by many connections.
  case get
  /// One property, many watchers.
  case fanout
  /// One property, many watchers each with a threshold of its own, few of which are passed.
  case filter
  /// Watchers that connect, receive their snapshot and disconnect.
  case connect
  /// Nine reads for each set, while many watch.
  case mixed
}

/// The size and duration of a benchmark.
struct BenchPlan: Sendable {
  var scenario = BenchScenario.fanout
  var connections = 64
  var subscribers = 1000
  var window = 1
  var rate: Double?
  var size = 64
  var keys = 1000
  var matching = 10
  var loops = 2
  var seconds = 10.0
  /// The number of requests after which it ends, if `seconds` have not passed before.
  var requests: Int?
  var pattern = "bench/**"

  /// The number of properties to be set before it begins, for snapshots and reads.
  var preparedKeys: Int {
    switch scenario {
    case .get, .mixed: keys
    case .connect: 10
    case .set, .fanout, .filter: 0
    }
  }

  /// The number of permanent watchers.
  var watchers: Int {
    switch scenario {
    case .fanout, .filter, .mixed: subscribers
    case .set, .get, .connect: 0
    }
  }

  /// The number of connections that send requests.
  var requesters: Int {
    switch scenario {
    case .fanout, .filter: 1
    case .set, .get, .mixed: connections
    case .connect: 0
    }
  }

  /// The number of events caused by answered requests; nil where that depends on which they were.
  func deliveries(ofAnswers answers: Int) -> Int? {
    switch scenario {
    case .set, .get, .connect: 0
    case .fanout: answers * subscribers
    case .filter: answers * matching
    case .mixed: nil
    }
  }

  /// The request target of watcher `index`.
  func target(ofWatcher index: Int) -> String {
    switch scenario {
    case .filter:
      // Distinct thresholds; the values that are sent pass the first `matching` of them.
      "/events?match=bench/filter&initial=false&oldValue=false&where=value.n%3E\(index)"
    case .fanout: "/events?match=bench/fanout&initial=false&oldValue=false"
    case .connect: "/events?match=bench/key/*"
    case .set, .get, .mixed: "/events?match=\(pattern)&initial=false&oldValue=false"
    }
  }

  /// The bytes of a request.
  ///
  /// - Parameters:
  ///   - number: A sequence number, counted separately on each loop.
  ///   - now: The time to send in the value, so that a watcher can measure the delay.
  func request(_ number: Int, now: UInt64, fields: String) -> [UInt8] {
    switch scenario {
    case .get: return Self.get("bench/key/\(number % keys)", fields)
    case .mixed where number % 10 != 9: return Self.get("bench/key/\(number % keys)", fields)
    case .set, .mixed: return put("bench/key/\(number % keys)", now, fields)
    case .fanout, .connect: return put("bench/fanout", now, fields)
    case .filter: return put("bench/filter", now, fields)
    }
  }

  private static func get(_ path: String, _ fields: String) -> [UInt8] {
    Array("GET /properties/\(path) HTTP/1.1\r\n\(fields)\r\n".utf8)
  }

  func put(_ path: String, _ now: UInt64, _ fields: String) -> [UInt8] {
    let body = #"{"ts":\#(now),"n":\#(matching),"pad":"\#(String(repeating: "x", count: size))"}"#
    return Array(
      """
      PUT /properties/\(path) HTTP/1.1\r\n\(fields)Content-Type: application/json\r\n\
      Content-Length: \(body.utf8.count)\r\n\r\n\(body)
      """.utf8)
  }
}
