// SPDX-License-Identifier: MIT
import SignalStore

extension ResponseWriter {
  /// Answers OPTIONS.
  mutating func allow(_ methods: StaticString) {
    begin(.noContent)
    field("Allow", methods)
    endWithoutBody()
  }

  /// Writes a refusal; the connection continues, unless the request violates HTTP.
  mutating func refuse(_ error: APIError) {
    switch error {
    case .request(let error):
      close()
      refuse(error)
    case .problem(let problem): refuse(problem)
    case .bodyAwaited: preconditionFailure("A body that is to be asked for is no refusal.")
    }
  }

  private mutating func refuse(_ problem: Problem) {
    guard let status = HTTPStatus(code: problem.code.status) else { preconditionFailure("A code has a status.") }
    begin(status, problem: problem.code.rawValue)
    // RFC 6750 §3.
    switch problem.code {
    case .unauthenticated: field("WWW-Authenticate", #"Bearer realm="signal""#)
    case .invalidToken: field("WWW-Authenticate", #"Bearer realm="signal", error="invalid_token""#)
    default: break
    }
    if let exceeded = problem.exceeded {
      if let seconds = exceeded.seconds { field("Retry-After", Array("\(seconds)".utf8)) }
      field("RateLimit", Array(exceeded.rest.utf8))
      field("RateLimit-Policy", Array(exceeded.policy.utf8))
    }
    if let allowed = problem.allowed { field("Allow", allowed) }
    if problem.acceptsPatch { field("Accept-Patch", ValuePatch.mediaTypes) }
    // RFC 9110 §15.5.16: the acceptable codings, so that the refusal is not attributed to the media type.
    if problem.acceptsEncoding { field("Accept-Encoding", "identity") }
    if let cursor = problem.cursor { field("Signal-Revision") { cursor.write(to: &$0) } }
    var text: [UInt8] = []
    problem.write(to: &text, asDocument: true)
    end(text)
  }
}

extension Timestamp {
  /// Whole seconds since 1970, the resolution of HTTP dates.
  var seconds: Int64 { milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000 }
}
