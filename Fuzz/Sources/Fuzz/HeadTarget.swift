// SPDX-License-Identifier: MIT

import SignalHTTP

extension FuzzTarget {
  /// The head of a request in pieces: the same outcome however it is cut, and every field that has a grammar of its
  /// own is read.
  static let head = FuzzTarget(name: "Head") { input in
    guard let input = CutInput(input) else { return }
    _ = input.sameOutcome(headOutcome)
    // The parser does not rely on the scanner, nor the small parsers on the parser: each gets any bytes.
    input.bytes.withView { view in
      var parser = headParser
      if let head = try? parser.parse(view) { _ = HeadFacts(head) }
      _ = try? MediaType(view)
      _ = try? Origin(view)
      _ = Authority(view)
      _ = try? PercentEncoding.string(view, plusIsSpace: true)
      for item in FormItems(view) { _ = try? item.value }
      for element in FieldList(view) { _ = element.trimmed }
      checkDate(view)
    }
  }

  /// Low, so that inputs reach them.
  private static let headLimits: HTTPLimits = {
    var limits = HTTPLimits()
    limits.fields = 20
    limits.headBytes = 1000
    limits.targetBytes = 100
    return limits
  }()

  private static let headParser = RequestHeadParser(limits: headLimits)

  private enum HeadOutcome: Equatable {
    case needsMore
    case refused(HTTPParseError)
    case complete(Int, HeadFacts)
  }

  private static func headOutcome(of bytes: [UInt8], cutAt cuts: [Int]) -> HeadOutcome {
    var scanner = HeadScanner()
    var parser = headParser
    for cut in cuts {
      do throws(HTTPParseError) {
        let found = try bytes.withView { (view) throws(HTTPParseError) in
          try scanner.scan(view[0..<cut], limits: headLimits)
        }
        guard let count = found else { continue }
        require((4...min(cut, headLimits.headBytes)).contains(count), "a head of \(count) bytes in \(cut)")
        require(bytes[..<count].suffix(4).elementsEqual("\r\n\r\n".utf8), "a head without its end")
        let facts = try bytes.withView { (view) throws(HTTPParseError) in
          HeadFacts(try parser.parse(view[0..<count]))
        }
        return .complete(count, facts)
      } catch {
        return .refused(error)
      }
    }
    require(bytes.count < headLimits.headBytes, "more bytes than the limit, and no refusal")
    return .needsMore
  }

  /// A date that is understood reads the same after it is written.
  private static func checkDate(_ view: ByteView) {
    let now = HTTPDate(secondsSinceEpoch: 1_700_000_000)
    guard let date = HTTPDate(view, now: now) else { return }
    var text: [UInt8] = []
    date.append(to: &text)
    require(text.withView { HTTPDate($0, now: now) } == date, "a date that was written reads as another")
  }
}

/// What a head says, copied.
private struct HeadFacts: Equatable {
  let method: HTTPMethod
  let target: [UInt8]
  let host: [UInt8]
  let port: UInt16?
  let keepsAlive: Bool
  let framing: BodyFraming
  let fields: [[UInt8]]

  init(_ head: borrowing RequestHead) {
    method = head.method
    target = head.target.array
    host = head.host.array
    port = head.port
    keepsAlive = head.keepsAlive
    framing = head.framing
    fields = (0..<head.fieldCount).flatMap { [head.field(at: $0).name.array, head.field(at: $0).value.array] }
    require(fields.count <= 40, "more fields than the limit")
    require(target.allSatisfy { (0x21...0x7E).contains($0) }, "a byte in the target that none can have")
    require(!host.isEmpty || head.minorVersion == 0, "a head of HTTP/1.1 without a host")
    require(fields.allSatisfy { !$0.contains { [0x00, 0x0A, 0x0D].contains($0) } }, "a line end inside a line")
    if case .sized(let count) = framing { require(count >= 0, "a negative length") }
    readFields(head)
    readCopy(head)
  }

  private func readFields(_ head: borrowing RequestHead) {
    _ = Accept.best(of: ["application/json", "text/plain;version=1"], for: head)
    _ = try? head.entityTags(in: .ifMatch, contain: ByteView("\"ab\""), by: .strong)
    _ = try? head.entityTags(in: .ifNoneMatch, contain: nil, by: .weak)
    if let origin = head[.origin], let parsed = try? Origin(origin) {
      _ = parsed.matches(host: head.host, port: head.port, isSecured: true)
    }
    if let type = head[.contentType], let parsed = try? MediaType(type) { _ = parsed.parameter("charset") }
    if let query = head.query {
      for item in FormItems(query) {
        _ = try? item.value
        if let name = try? item.name { require(item.isNamed(name), "a name that is not itself") }
      }
    }
  }

  /// The copy that an application keeps.
  private func readCopy(_ head: borrowing RequestHead) {
    let request = HTTPRequest(copying: head, body: [])
    require(request.fields.count == head.fieldCount, "the copy has other fields")
    _ = request.authority
    _ = try? request.decodedPath
    _ = try? request.queryItems()
    _ = request.asksForWebSocket
  }
}
