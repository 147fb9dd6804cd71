// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// What a head came to, in a form that can be compared.
enum HeadOutcome: Equatable {
  case needsMore
  case parsed(ParsedHead)
  case refused(HTTPParseError)
}

struct ParsedHead: Equatable {
  var method = ""
  var target = ""
  var form = TargetForm.origin
  var path = ""
  var query: String?
  var host = ""
  var port: UInt16?
  var minorVersion: UInt8 = 1
  var framing = BodyFraming.none
  var keepsAlive = true
  var expectsContinue = false
  var wantsUpgrade = false
  var fields: [String] = []
  /// Bytes of the input that are the head.
  var length = 0

  init() {}

  init(_ head: borrowing RequestHead, length: Int) {
    method = head.method.name
    target = head.target.string
    form = head.targetForm
    path = head.path.string
    query = head.query?.string
    host = head.host.string
    port = head.port
    minorVersion = head.minorVersion
    framing = head.framing
    keepsAlive = head.keepsAlive
    expectsContinue = head.expectsContinue
    wantsUpgrade = head.wantsUpgrade
    for position in 0..<head.fieldCount {
      let (name, value) = head.field(at: position)
      fields.append("\(name.string)=\(value.string)")
    }
    self.length = length
  }
}

/// Feeds pieces to a scanner, as a connection does, and the complete head to a parser.
func headOutcome(of pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits()) -> HeadOutcome {
  var scanner = HeadScanner()
  var parser = RequestHeadParser(limits: limits)
  var buffer: [UInt8] = []
  do {
    for piece in pieces {
      buffer += piece
      let length = try buffer.withView { (view) throws(HTTPParseError) in try scanner.scan(view, limits: limits) }
      guard let length else { continue }
      return try buffer.withView { (view) throws(HTTPParseError) in
        let head = try parser.parse(view[0..<length])
        return .parsed(ParsedHead(head, length: length))
      }
    }
    return .needsMore
  } catch {
    return .refused(error)
  }
}

/// The outcome of a text, however it is cut.
func outcome(_ text: String, limits: HTTPLimits = HTTPLimits()) throws -> HeadOutcome {
  try outcome(Array(text.utf8), limits: limits)
}

func outcome(_ bytes: [UInt8], limits: HTTPLimits = HTTPLimits()) throws -> HeadOutcome {
  try Splits.all(of: bytes) { headOutcome(of: $0, limits: limits) }
}

/// The head that a text is, however it is cut; a text that is none fails the test.
func parsed(_ text: String, limits: HTTPLimits = HTTPLimits()) throws -> ParsedHead {
  let outcome = try outcome(text, limits: limits)
  guard case .parsed(let head) = outcome else { throw UnexpectedOutcome(outcome: outcome, text: text) }
  return head
}

struct UnexpectedOutcome: Error {
  let outcome: HeadOutcome
  let text: String
}

/// Calls `read` with the head that a text is.
func withHead<Result>(_ text: String, _ read: (borrowing RequestHead) throws -> Result) throws -> Result {
  var parser = RequestHeadParser()
  return try Array(text.utf8).withView { (view) throws in try read(parser.parse(view)) }
}

/// A request with a host and these field lines.
func request(_ lines: String..., method: String = "POST", version: String = "1.1") -> String {
  (["\(method) / HTTP/\(version)", "Host: a"] + lines + ["", ""]).joined(separator: "\r\n")
}

/// One line of a table of what is refused.
struct Refusal: CustomTestStringConvertible, Sendable {
  let text: String
  let error: HTTPParseError

  init(_ text: String, _ error: HTTPParseError) {
    self.text = text
    self.error = error
  }

  var testDescription: String { "\(text.debugDescription) → \(error.code)" }

  func check(limits: HTTPLimits = HTTPLimits()) throws {
    #expect(try outcome(text, limits: limits) == .refused(error))
  }
}

extension RequestHead {
  /// The value of the first line of any name, without regard to case.
  subscript(name: ByteView) -> ByteView? {
    for position in 0..<fieldCount where field(at: position).name.equalsIgnoringCase(name) {
      return field(at: position).value
    }
    return nil
  }
}
