// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Signals: `POST /signals/{path}` (`docs/protocol.md` §2.9).
extension LiveAPI {
  func sendSignal(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) {
    let query = try Query(head, ["remember", "sync"])
    let path = try propertyPath(encoded)
    try refuseEncoding(head)
    let isSynced = try isSynced(query)
    let remember = try query.bool("remember") ?? false
    let body = try body.read()
    // An empty body is a message, too, such as that of a doorbell.
    let message = body.count == 0 ? .null : try jsonValue(body)
    try problem { () throws(Problem) in
      try service.commands.send(SendRequest(path: path, message: message, remember: remember), as: caller)
    }
    if isSynced { service.awaitDurability() }
    response.begin(.noContent)
    response.endWithoutBody()
  }
}
