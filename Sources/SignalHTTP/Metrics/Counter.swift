// SPDX-License-Identifier: MIT

/// What a loop counts by itself; those that can go down again are marked.
enum Counter: Int, CaseIterable, Sendable {
  // Open connections by what they speak; these go down.
  case httpConnections, webSockets, eventStreams
  // Connections whose sockets take nothing, and what waits for them, at the last look; these go down.
  case blockedConnections, backlogBytes
  case acceptedConnections
  // Connections that were not served, by reason.
  case refusedAtLimit, refusedForMemory, refusedWhileDraining, refusedByRate, refusedByProxyProtocol, refusedByTLS
  // Connections that were ended because the client did not read.
  case droppedTooSlow, droppedAfterSendTimeout, droppedForMemory
  case receivedBytes, sentBytes
  case webSocketMessages
  // These go down.
  case propertySubscriptions, signalSubscriptions, demandSubscriptions, groups
  case deliveries, gaps
  // Subscriptions that began anew, by reason.
  case resetsByAccess, resetsByEpoch, resetsByFuture, resetsByHistory, resetsByLoss
  case filterEvaluations, filterFailures
}

/// What a connection speaks.
enum ConnectionKind {
  case http, webSocket, eventStream

  /// The number of open ones.
  var counter: Counter {
    switch self {
    case .http: .httpConnections
    case .webSocket: .webSockets
    case .eventStream: .eventStreams
    }
  }
}

/// What kind of request it is: a route of the application, and a method.
struct RequestKind {
  /// Routes that an application can have; 0 is for requests that belong to none.
  static var routes: Int { 32 }
  static var methods: [String] { ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "other"] }
  /// All kinds.
  static var count: Int { routes * 8 }

  let index: Int

  /// - Parameters:
  ///   - route: Below ``routes``.
  ///   - method: Below 8, in the order of ``methods``.
  init(route: UInt8, method: Int) { index = Int(route) * 8 + method }

  init(index: Int) { self.index = index }

  var route: Int { index / 8 }
  var method: Int { index % 8 }
}

/// The statuses of answers, numbered without gaps.
enum StatusNumber {
  /// All statuses in the order of their numbers; 0 stands for any other.
  static let statuses = [
    0, 101, 200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411,
    412, 413, 414, 415, 417, 421, 422, 426, 428, 429, 431, 500, 501, 502, 503, 505, 507,
  ]

  static var count: Int { 40 }

  static func number(of status: Int) -> Int {
    switch status {
    case 101: 1
    case 200: 2
    case 201: 3
    case 202: 4
    case 204: 5
    case 206: 6
    case 301: 7
    case 302: 8
    case 303: 9
    case 304: 10
    case 307: 11
    case 308: 12
    case 400: 13
    case 401: 14
    case 403: 15
    case 404: 16
    case 405: 17
    case 406: 18
    case 408: 19
    case 409: 20
    case 410: 21
    case 411: 22
    case 412: 23
    case 413: 24
    case 414: 25
    case 415: 26
    case 417: 27
    case 421: 28
    case 422: 29
    case 426: 30
    case 428: 31
    case 429: 32
    case 431: 33
    case 500: 34
    case 501: 35
    case 502: 36
    case 503: 37
    case 505: 38
    case 507: 39
    default: 0
    }
  }
}
