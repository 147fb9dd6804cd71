// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Signals: `POST /signals/{path}` (`docs/protocol.md` §2.9).
extension LiveAPI {
  func sendSignal(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) {
    let query = try Query(head, ["remember"])
    let path = try propertyPath(encoded)
    try refuseEncoding(head)
    let remember = try query.bool("remember") ?? false
    let body = try body.read()
    // Nothing is something to say here, too: the bell has rung.
    let message = body.count == 0 ? .null : try jsonValue(body)
    try problem { () throws(Problem) in
      try service.commands.send(SendRequest(path: path, message: message, remember: remember), as: caller)
    }
    response.begin(.noContent)
    response.endWithoutBody()
  }
}
