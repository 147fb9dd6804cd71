// SPDX-License-Identifier: MIT
import JSON
import SignalAccess

/// Explains what the access rules decide: `POST /access/explain` (`docs/protocol.md` §10.6).
extension LiveAPI {
  func explainAccess(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    _ = try Query(head, [])
    try refuseEncoding(head)
    let body = try body.read()
    let explanation = try problem { () throws(Problem) in
      let question = try body.withSpan { bytes throws(Problem) in try AccessQuestion(bytes, service.configuration) }
      return try service.commands.explain(question, as: caller)
    }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendRevision(service.commands.revision, &response)
    response.end(explanation.json.bytes)
  }
}
