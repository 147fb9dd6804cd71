// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore

/// Reads what a server holds, item by item.
struct Exporter {
  let client: ClientOptions

  /// Calls a closure with the lines of an export, in batches.
  ///
  /// Each page is a snapshot, and a change between two pages is included or not accordingly: `backup` makes a
  /// consistent copy.
  func run(_ write: ([[UInt8]]) throws(Failure) -> Void) throws(Failure) {
    let head = try client.request("HEAD", "/properties?limit=1")
    try write([ExportedLine.header(head.value("Signal-Revision") ?? "")])
    var counts = ExportedLine.Counts()
    func add(_ items: [ExportedItem]) throws(Failure) {
      for item in items { counts.count(item) }
      try write(items.map(\.line))
    }
    var pages = PropertyPages(client, [(name: "match", value: "**")])
    while let page = try pages.next() { try add(page.map { Self.item($0) }) }
    try timers { items throws(Failure) in try add(items) }
    try add(signals())
    // Only now, so that an export that ended early has none.
    try write([counts.endLine])
  }

  private static func item(_ property: ListedProperty) -> ExportedItem {
    let members = Members.body(property.line)
    if let formula = members?.members("computed")?.string("formula") {
      return .computed(path: property.path, formula: formula)
    }
    // The remaining time: by the time of an import the clock has advanced.
    let ttl = members?.string("expires").flatMap { Timestamp($0) }.map { expires in
      "\(max(1, expires.milliseconds - Timestamp.now.milliseconds))ms"
    }
    return .property(path: property.path, value: property.value, ttl: ttl)
  }

  /// The timers, page by page.
  func timers(_ body: ([ExportedItem]) throws(Failure) -> Void) throws(Failure) {
    var after: String?
    repeat {
      let query = [(name: "limit", value: "100")] + (after.map { [(name: "after", value: $0)] } ?? [])
      let response = try client.request("GET", PropertyTarget.make("", query, in: "/timers"))
      guard let answer = Members.body(response.body), let list = answer.tree.member("timers", of: answer.node) else {
        throw Failure(.refused, "the server's list of timers is none")
      }
      try body(
        answer.tree.elements(of: list).compactMap { node in
          let timer = Members(tree: answer.tree, node: node)
          guard let path = timer.string("path"), let message = timer.text("message") else {
            return nil
          }
          if let every = timer.string("every") {
            return .timer(path: path, kind: "every", time: every, message: message)
          }
          // A one-shot timer fires at that time, whenever it is imported.
          return timer.string("next").map { .timer(path: path, kind: "at", time: $0, message: message) }
        })
      after = answer.string("next")
    } while after != nil
  }

  /// The messages that are kept.
  private func signals() throws(Failure) -> [ExportedItem] {
    let url = try client.url()
    var items: [ExportedItem] = []
    let fields = try url.fields
    do {
      let socket = try WebSocketClient(
        url.endpoint, target: PropertyTarget.make("", [(name: "signals", value: "**")], in: "/events"), tls: url.tls,
        fields: fields)
      // The kept messages come first, then `live`.
      while case .text(let bytes)? = try socket.receive(timeout: .seconds(60)) {
        guard let message = Members.body(bytes) else { continue }
        if message.string("type") == "live" { return items }
        guard message.string("type") == "signal", let path = message.string("path"), let text = message.text("message")
        else { continue }
        items.append(.signal(path: path, message: text))
      }
    } catch {
      throw Failure(.unreachable, "\(url): \(error)")
    }
    throw Failure(.unreachable, "\(url): the connection broke before all kept messages had come")
  }
}
