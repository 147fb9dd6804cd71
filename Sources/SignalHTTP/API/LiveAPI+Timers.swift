// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Timers: `/timers` and `/timers/{path}` (`docs/protocol.md` §2.10).
extension LiveAPI {
  func putTimer(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) {
    let isSynced = try isSynced(try Query(head, ["sync"]))
    let path = try propertyPath(encoded)
    try refuseEncoding(head)
    let body = try body.read()
    let request = try problem { () throws(Problem) in
      try body.withSpan { bytes throws(Problem) in try TimerRequest(bytes, service.configuration) }
    }
    let (timer, isNew) = try problem { () throws(Problem) in
      try service.commands.setTimer(path, request.schedule, message: request.message, as: caller)
    }
    if isSynced { service.awaitDurability() }
    response.begin(isNew ? .created : .ok)
    response.field("Content-Type", "application/json")
    if isNew { response.field("Location", head.path.array) }
    response.end(Self.text(of: timer))
  }

  func getTimer(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) {
    _ = try Query(head, [])
    let path = try propertyPath(encoded)
    let timer = try problem { () throws(Problem) in try service.commands.timer(path, as: caller) }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendCacheControl(&response)
    response.end(Self.text(of: timer))
  }

  func deleteTimer(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) {
    let isSynced = try isSynced(try Query(head, ["sync"]))
    let path = try propertyPath(encoded)
    try problem { () throws(Problem) in try service.commands.removeTimer(path, as: caller) }
    if isSynced { service.awaitDurability() }
    response.begin(.noContent)
    response.endWithoutBody()
  }

  func listTimers(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    let query = try Query(head, ["match", "limit", "after"])
    let limits = service.configuration.limits
    let limit = try query.integer("limit", in: 1...limits.listLimit) ?? limits.listDefault
    let patterns = try query.patterns("match", service.configuration)
    let after = try query.path("after", service.configuration)
    let timers = service.commands.timers(
      match: patterns.isEmpty ? [.all] : patterns, after: after, limit: limit, as: caller)
    var text: [UInt8] = []
    text.append(literal: #"{"timers":["#)
    for (index, timer) in timers.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text += Self.text(of: timer)
    }
    text.append(UInt8(ascii: "]"))
    if timers.count == limit, let last = timers.last {
      text.append(literal: #","next":"#)
      let path = last.path.bytes
      text.appendJSON(utf8: path.span)
    }
    text.append(UInt8(ascii: "}"))
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendCacheControl(&response)
    response.end(text)
  }

  private static func text(of timer: StoreTimer) -> [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"path":"#)
    let path = timer.path.bytes
    text.appendJSON(utf8: path.span)
    switch timer.schedule {
    case .after(let delay): text += Array(#","after":"\#(WireDuration.text(delay))""#.utf8)
    case .every(let interval): text += Array(#","every":"\#(WireDuration.text(interval))""#.utf8)
    case .at(let time): text += Array(#","at":"\#(time)""#.utf8)
    }
    text.append(literal: #","message":"#)
    text.appendJSON(timer.message)
    text.append(literal: #","next":""#)
    timer.next.write(to: &text)
    text.append(literal: #""}"#)
    return text
  }
}

/// The body of `PUT /timers/{path}`.
struct TimerRequest: Equatable {
  let schedule: TimerSchedule
  let message: JSONText

  init(_ body: Span<UInt8>, _ configuration: LiveConfiguration) throws(Problem) {
    let limits = configuration.texts(bytes: body.count, levels: 1)
    var members = try JSONMembers(reading: body, within: limits, of: "a timer")
    let after = try members.duration("after")
    let every = try members.duration("every")
    let at = try members.string("at")
    switch (after, every, at) {
    case (let delay?, nil, nil): schedule = .after(delay)
    case (nil, let interval?, nil): schedule = .every(interval)
    case (nil, nil, let text?):
      guard let time = Timestamp(text) else {
        throw Problem(.badDuration, "\"at\" is a time as RFC 3339 writes it, such as 2026-01-02T03:04:05Z.")
      }
      schedule = .at(time)
    default: throw Problem(.badMessage, #"A timer has one of "after", "at" and "every"."#)
    }
    message = try members.value("message", within: configuration.values) ?? .null
    try members.end()
  }
}
