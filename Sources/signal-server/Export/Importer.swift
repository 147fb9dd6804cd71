// SPDX-License-Identifier: MIT
import Glibc
import JSON
import SignalHTTP

/// Writes the items of an export to a server, in transactions.
struct Importer {
  /// The items with the lines that they are on.
  typealias Items = [(line: Int, item: ExportedItem)]

  /// Operations of one transaction, unless the server permits fewer, and approximate bytes.
  private static let batch = 500
  private static let batchBytes = 512 << 10
  /// The pause before each retry while the disk is too slow, and the number of retries.
  private static let patience = (pause: UInt32(20_000), attempts: 3000)

  let client: ClientOptions
  /// The name of the file, for error messages.
  let source: String

  /// Reads all lines, so that nothing is written when one is wrong.
  static func items(of bytes: [UInt8], _ source: String) throws(Failure) -> Items {
    var items: Items = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { continue }
      do throws(ExportedItem.Fault) {
        if let item = try ExportedItem.read(line) { items.append((number, item)) }
      } catch {
        throw Failure(.damaged, "\(source), line \(number): \(error.message.printable)")
      }
    }
    return items
  }

  /// The counts of an import.
  struct Tally {
    var properties = 0
    var timers = 0
    var signals = 0
    var deleted = 0
  }

  /// Writes the items.
  ///
  /// - Parameter replaces: Deletes the properties and timers that are not among them. Properties that have to become
  ///   plain ones are deleted first, all others last.
  func run(_ items: Items, replaces: Bool) throws(Failure) -> Tally {
    var tally = Tally()
    let (rest, obstacles) = replaces ? try others(than: items) : ([], [])
    tally.deleted += try transact(obstacles.map { (0, Self.deletion(of: $0)) })
    // Formulas after their inputs, so that none is computed needlessly.
    tally.properties += try transact(items.compactMap { line, item in Self.setting(item).map { (line, $0) } })
    tally.properties += try transact(items.compactMap { line, item in Self.definition(item).map { (line, $0) } })
    for (line, item) in items {
      switch item {
      case .timer(let path, let kind, let time, let message):
        var body = Array("{\"\(kind)\":".utf8)
        body.appendJSON(time)
        body += Array(#","message":"#.utf8) + message.bytes + Array("}".utf8)
        try send("PUT", PropertyTarget.make(path, in: "/timers/"), body, line)
        tally.timers += 1
      case .signal(let path, let message):
        let target = PropertyTarget.make(path, [(name: "remember", value: "true")], in: "/signals/")
        try send("POST", target, message.bytes, line)
        tally.signals += 1
      case .property, .computed: break
      }
    }
    tally.deleted += try transact(rest.map { (0, Self.deletion(of: $0)) })
    if replaces { tally.deleted += try deleteTimers(but: items) }
    return tally
  }

  // MARK: Existing items

  /// The properties that are not among the items, and computed ones that are to become plain.
  private func others(than items: Items) throws(Failure) -> (rest: [String], obstacles: [String]) {
    var plain: Set<[UInt8]> = []
    var computed: Set<[UInt8]> = []
    for (_, item) in items {
      if case .property(let path, _, _) = item { plain.insert(Array(path.utf8)) }
      if case .computed(let path, _) = item { computed.insert(Array(path.utf8)) }
    }
    var (rest, obstacles): ([String], [String]) = ([], [])
    var pages = PropertyPages(client, [(name: "match", value: "**")])
    while let page = try pages.next() {
      for property in page {
        let path = Array(property.path.utf8)
        if plain.contains(path) {
          if Members.body(property.line)?.has("computed") == true { obstacles.append(property.path) }
        } else if !computed.contains(path) {
          rest.append(property.path)
        }
      }
    }
    return (rest, obstacles)
  }

  private func deleteTimers(but items: Items) throws(Failure) -> Int {
    var kept: Set<[UInt8]> = []
    for (_, item) in items { if case .timer(let path, _, _, _) = item { kept.insert(Array(path.utf8)) } }
    var others: [String] = []
    try Exporter(client: client).timers { timers throws(Failure) in
      for case .timer(let path, _, _, _) in timers where !kept.contains(Array(path.utf8)) { others.append(path) }
    }
    // A timer that has fired for the last time meanwhile is gone as well.
    for path in others { _ = try client.exchange("DELETE", PropertyTarget.make(path, in: "/timers/")) }
    return others.count
  }

  // MARK: Operations

  private static func deletion(of path: String) -> [UInt8] { operation("delete", path, []) }

  private static func setting(_ item: ExportedItem) -> [UInt8]? {
    guard case .property(let path, let value, let ttl) = item else { return nil }
    var rest = Array(#","value":"#.utf8) + value.bytes
    if let ttl {
      rest += Array(#","ttl":"#.utf8)
      rest.appendJSON(ttl)
    }
    return operation("set", path, rest)
  }

  private static func definition(_ item: ExportedItem) -> [UInt8]? {
    guard case .computed(let path, let formula) = item else { return nil }
    var rest = Array(#","formula":"#.utf8)
    rest.appendJSON(formula)
    return operation("define", path, rest)
  }

  private static func operation(_ name: String, _ path: String, _ rest: [UInt8]) -> [UInt8] {
    var text = Array(#"{"op":"\#(name)","path":"#.utf8)
    text.appendJSON(path)
    return text + rest + Array("}".utf8)
  }

  /// Executes the operations, as many in one transaction as the server permits.
  ///
  /// - Returns: How many there were.
  private func transact(_ operations: [(line: Int, text: [UInt8])]) throws(Failure) -> Int {
    var pending = operations[...]
    var size = Self.batch
    while !pending.isEmpty {
      var (count, bytes) = (0, 0)
      for operation in pending.prefix(size) where count == 0 || bytes + operation.text.count <= Self.batchBytes {
        count += 1
        bytes += operation.text.count + 1
      }
      let batch = pending.prefix(count)
      let body =
        Array(#"{"operations":["#.utf8) + batch.map(\.text).joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
      let response = try exchange("POST", "/transactions", body)
      if response.status == 200 {
        pending = pending.dropFirst(count)
        continue
      }
      let problem = Members.body(response.body)
      if problem?.string("code") == "too_many_operations" || response.status == 413, count > 1 {
        size = count / 2
        continue
      }
      let place = problem?.number("operation").flatMap { Int(exactly: $0) } ?? 0
      throw refusal(response, line: batch[batch.startIndex + min(place, count - 1)].line)
    }
    return operations.count
  }

  private func send(_ method: String, _ target: String, _ body: [UInt8], _ line: Int) throws(Failure) {
    let response = try exchange(method, target, body)
    guard (200..<300).contains(response.status) else { throw refusal(response, line: line) }
  }

  /// Sends a request, and retries while the disk is too slow.
  private func exchange(_ method: String, _ target: String, _ body: [UInt8]) throws(Failure) -> HTTPClientResponse {
    for _ in 0..<Self.patience.attempts {
      let response = try client.exchange(
        method, target, fields: [("Content-Type", "application/json")], body: body, patience: .seconds(60))
      guard response.status == 503, Members.body(response.body)?.string("code") == "storage_slow" else {
        return response
      }
      usleep(Self.patience.pause)
    }
    throw Failure(.refused, "the disk of the server is too slow")
  }

  private func refusal(_ response: HTTPClientResponse, line: Int) -> Failure {
    let place = line > 0 ? "\(source), line \(line): " : ""
    return Failure(.refused, "\(place)\(response.refusal()); what was before it has been imported")
  }
}
