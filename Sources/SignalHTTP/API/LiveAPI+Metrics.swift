// SPDX-License-Identifier: MIT

/// What the server counts: `GET /metrics` (`docs/metrics.md`).
extension LiveAPI {
  func tellMetrics(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    _ = try Query(head, [])
    try problem { () throws(Problem) in try service.commands.checkMetrics(as: caller) }
    // Whoever accepts neither gets the first: a scraper that names something else reads it all the same.
    let isOpenMetrics = Accept.best(of: ["text/plain", "application/openmetrics-text"], for: head) == 1
    var text = MetricsText(isOpenMetrics: isOpenMetrics)
    MetricsPage(service).write(to: &text)
    text.end()
    response.begin(.ok)
    response.field("Content-Type", MetricsText.mediaType(isOpenMetrics: isOpenMetrics))
    response.field("Cache-Control", "no-store")
    response.end(text.bytes)
  }
}
