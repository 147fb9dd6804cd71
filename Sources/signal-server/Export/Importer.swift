// SPDX-License-Identifier: MIT
import Glibc
import JSON
import SignalHTTP

/// Writes the items of an export to a server, in transactions.
struct Importer {
  /// Operations of one transaction, unless the server permits fewer, and approximate bytes.
  private static let batch = 500
  private static let batchBytes = 512 << 10
  /// The pause before each retry while the disk is too slow, and the number of retries.
  private static let patience = (pause: UInt32(20_000), attempts: 3000)

  private let client: ClientOptions
  /// The name of the file, for error messages.
  private let source: String
  private let items: [(line: Int, item: ExportedItem)]
  private var progress: ImportProgress

  /// - Parameter source: The name of the file, for error messages.
  init(_ items: [(line: Int, item: ExportedItem)], from source: String, to client: ClientOptions) {
    self.client = client
    self.source = source
    self.items = items
    progress = ImportProgress(items)
  }

  /// Writes the items.
  ///
  /// - Parameter replaces: Deletes the properties and timers that are not among them. Properties that have to become
  ///   plain ones are deleted first, all others last.
  /// - Returns: How many were deleted.
  mutating func run(replaces: Bool) throws(Failure) -> Int {
    let (rest, obstacles) = replaces ? try others() : ([], [])
    try delete(obstacles)
    // Formulas after their inputs, so that none is computed needlessly.
    try transact(items.compactMap { line, item in Self.setting(item).map { (line, $0) } })
    try transact(items.compactMap { line, item in Self.definition(item).map { (line, $0) } })
    for (line, item) in items {
      switch item {
      case .timer(let path, let kind, let time, let message):
        var body = Array("{\"\(kind)\":".utf8)
        body.appendJSON(time)
        body += Array(#","message":"#.utf8) + message.bytes + Array("}".utf8)
        try send("PUT", PropertyTarget.make(path, in: "/timers/"), body, line)
      case .signal(let path, let message):
        let target = PropertyTarget.make(path, [(name: "remember", value: "true")], in: "/signals/")
        try send("POST", target, message.bytes, line)
      case .property, .computed: break
      }
    }
    try delete(rest)
    if replaces { try deleteOtherTimers() }
    return progress.deleted
  }

  // MARK: Existing items

  /// The properties that are not among the items, and computed ones that are to become plain.
  private func others() throws(Failure) -> (rest: [String], obstacles: [String]) {
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

  private mutating func delete(_ paths: [String]) throws(Failure) {
    try transact(paths.map { (0, Self.operation("delete", $0, [])) })
  }

  private mutating func deleteOtherTimers() throws(Failure) {
    var kept: Set<[UInt8]> = []
    for (_, item) in items { if case .timer(let path, _, _, _) = item { kept.insert(Array(path.utf8)) } }
    var others: [String] = []
    try Exporter(client: client).timers { timers throws(Failure) in
      for case .timer(let path, _, _, _) in timers where !kept.contains(Array(path.utf8)) { others.append(path) }
    }
    for path in others {
      let response = try exchange("DELETE", PropertyTarget.make(path, in: "/timers/"))
      // A timer that has fired for the last time meanwhile is gone as well.
      guard (200..<300).contains(response.status) || response.status == 404 else { throw refusal(response, line: 0) }
      if response.status != 404 { progress.deleted += 1 }
    }
  }

  // MARK: Operations

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

  /// Executes the operations, as many in one transaction as the server permits; those without a line delete.
  private mutating func transact(_ operations: [(line: Int, text: [UInt8])]) throws(Failure) {
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
        if batch[batch.startIndex].line > 0 { progress.advance(by: count) } else { progress.deleted += count }
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
  }

  private mutating func send(
    _ method: String, _ target: String, _ body: [UInt8], _ line: Int
  ) throws(Failure) {
    let response = try exchange(method, target, body)
    guard (200..<300).contains(response.status) else { throw refusal(response, line: line) }
    progress.advance(by: 1)
  }

  /// Sends a request, and retries while the disk is too slow.
  private func exchange(
    _ method: String, _ target: String, _ body: [UInt8]? = nil
  ) throws(Failure) -> HTTPClientResponse {
    for _ in 0..<Self.patience.attempts {
      let response: HTTPClientResponse
      do throws(Failure) {
        response = try client.exchange(
          method, target, fields: [("Content-Type", "application/json")], body: body, patience: .seconds(60))
      } catch {
        throw Failure(error.status, "\(error.message); \(progress.text(isCertain: false))")
      }
      guard response.status == 503, Members.body(response.body)?.string("code") == "storage_slow" else {
        return response
      }
      usleep(Self.patience.pause)
    }
    throw Failure(.refused, "the disk of the server is too slow; \(progress.text(isCertain: true))")
  }

  private func refusal(_ response: HTTPClientResponse, line: Int) -> Failure {
    let place = line > 0 ? "\(source), line \(line): " : ""
    return Failure(.refused, "\(place)\(response.refusal()); \(progress.text(isCertain: true))")
  }
}
