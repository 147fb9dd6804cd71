// SPDX-License-Identifier: MIT

/// What the server counts: `GET /metrics` (`docs/metrics.md`).
extension LiveAPI {
  /// The forms: that of Prometheus, and OpenMetrics as scrapers ask for it, some of whom say how names are to be escaped,
  /// which those of the server need not be.
  private static let metricsTypes: [StaticString] = [
    "text/plain; version=0.0.4", "application/openmetrics-text; version=1.0.0",
    "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8",
    "application/openmetrics-text; version=1.0.0; escaping=underscores",
  ]

  func tellMetrics(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    _ = try Query(head, [])
    try problem { () throws(Problem) in try service.commands.checkMetrics(as: caller) }
    // Whoever accepts none of them gets the first: a scraper that names something else reads it all the same.
    let isOpenMetrics = Accept.best(of: Self.metricsTypes, for: head).map { $0 > 0 } ?? false
    var text = MetricsText(isOpenMetrics: isOpenMetrics)
    MetricsPage(service).write(to: &text)
    text.end()
    response.begin(.ok)
    response.field("Content-Type", MetricsText.mediaType(isOpenMetrics: isOpenMetrics))
    response.field("Cache-Control", "no-store")
    response.end(text.bytes)
  }
}
