// SPDX-License-Identifier: MIT

extension Refusal {
  private static func put(
    _ rule: String, _ body: String, _ status: Int = 400, _ code: String = "bad_json", _ fields: String...
  ) -> Refusal {
    Refusal(
      rule: rule, deed: .request("PUT", "/properties/a", fields: fields, body: body), answer: .status(status, code),
      lives: true)
  }

  private static let mergePatch = "Content-Type: application/merge-patch+json"
  private static let jsonPatch = "Content-Type: application/json-patch+json"

  private static func patch(_ rule: String, _ body: String, _ status: Int, _ code: String, _ fields: String...)
    -> Refusal
  {
    Refusal(
      rule: "patch: \(rule)", deed: .request("PATCH", "/properties/a", fields: fields, body: body),
      answer: .status(status, code), lives: true)
  }

  private static func timer(
    _ rule: String, _ body: String, _ code: String = "bad_message", _ status: Int = 400
  ) -> Refusal {
    .request("timer: \(rule)", "PUT", "/timers/a", status, code, body: body)
  }

  private static func history(
    _ rule: String, _ query: String, _ code: String = "bad_query", _ status: Int = 400
  ) -> Refusal {
    .request("history: \(rule)", "GET", "/history/a\(query)", status, code)
  }

  private static func ttl(_ rule: String, _ ttl: String) -> Refusal {
    .request("time to live: \(rule)", "PUT", "/properties/a?ttl=\(ttl)", 400, "bad_duration", body: "1")
  }

  private static func path(_ rule: String, _ path: String) -> Refusal {
    .request("path: \(rule)", "PUT", "/properties/\(path)", 400, "bad_path", body: "1")
  }

  private static func transaction(
    _ rule: String, _ body: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    .request("transaction: \(rule)", "POST", "/transactions", status, code, body: body)
  }

  private static func operation(
    _ rule: String, _ operation: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    transaction(rule, #"{"operations":[{"op":"set","path":"a","value":7},\#(operation)]}"#, status, code)
  }

  private static let fiveOperations: String = {
    let operations = String(repeating: #"{"op":"delete","path":"b"},"#, count: 4)
    return #"{"operations":[\#(operations)5]}"#
  }()
  private static let long = String(repeating: "x", count: 2047)
  private static let deep = String(repeating: "[", count: 257) + String(repeating: "]", count: 257)
  private static let longPath =
    Array(repeating: String(repeating: "x", count: 204), count: 5).joined(separator: "/") + "x"
  private static let longExpression = String(repeating: "!", count: 256) + "true"
  private static let nestedExpression = String(repeating: "(", count: 100) + "true" + String(repeating: ")", count: 100)

  private static let manyInputs = "properties.p + properties.q + properties.r"

  private static func formula(
    _ rule: String, _ formula: String, _ status: Int = 400, _ code: String = "bad_formula", _ fields: String...
  ) -> Refusal {
    Refusal(
      rule: "formula: \(rule)",
      deed: .request("PUT", "/properties/a", fields: ["Content-Type: application/cel"] + fields, body: formula),
      answer: .status(status, code), lives: true)
  }

  private static func explain(
    _ rule: String, _ body: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    .request("explain: \(rule)", "POST", "/expressions/explain", status, code, body: body)
  }

  private static func access(
    _ rule: String, _ body: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    .request("access: \(rule)", "POST", "/access/explain", status, code, body: body)
  }

  /// One digit more than a number may have.
  private static let digits = String(repeating: "7", count: 1001)

  /// Requests that are well-formed and refused, in the order of `docs/protocol.md` §2.
  static let requests: [Refusal] = [
    // Routes and methods
    .request("route: the root", "GET", "/", 404, "no_such_route"),
    .request("route: no path behind /properties/", "GET", "/properties/", 404, "no_such_route"),
    .request("route: something like /properties", "GET", "/propertiesx", 404, "no_such_route"),
    .request("route: capital letters", "GET", "/Properties/a", 404, "no_such_route"),
    .request("route: a slash behind /events", "GET", "/events/?match=a", 404, "no_such_route"),
    .request("route: /health alone", "GET", "/health", 404, "no_such_route"),
    .request("method: POST of a property", "POST", "/properties/a", 405, "method_not_allowed", body: "1"),
    .request("method: PATCH of the list", "PATCH", "/properties", 405, "method_not_allowed"),
    .request("method: GET of a signal", "GET", "/signals/a", 405, "method_not_allowed"),
    .request("method: PUT of a signal", "PUT", "/signals/a", 405, "method_not_allowed", body: "1"),
    .request("method: POST of a timer", "POST", "/timers/a", 405, "method_not_allowed", body: "1"),
    .request("method: PATCH of a timer", "PATCH", "/timers/a", 405, "method_not_allowed"),
    .request("method: PUT of the timers", "PUT", "/timers", 405, "method_not_allowed", body: "1"),
    .request("method: POST of the description", "POST", "/openapi.yaml", 405, "method_not_allowed"),
    .request("route: no path behind /signals/", "POST", "/signals/", 404, "no_such_route", body: "1"),
    .request("route: no path behind /timers/", "GET", "/timers/", 404, "no_such_route"),
    .request("method: TRACE", "TRACE", "/properties/a", 405, "method_not_allowed"),
    .request("method: one that nobody has registered", "JUMP", "/properties/a", 501, "not_implemented"),
    .request("method: one that nobody has registered, where nothing is", "JUMP", "/none", 501, "not_implemented"),
    .request("method: small letters", "get", "/properties/a", 501, "not_implemented"),
    .request("route: an encoded slash in it", "GET", "/properties%2Fa", 404, "no_such_route"),
    .request("route: an encoded reserved character in it", "GET", "/health%2Flive", 404, "no_such_route"),
    .request("method: DELETE of the list", "DELETE", "/properties", 405, "method_not_allowed"),
    .request("method: GET of transactions", "GET", "/transactions", 405, "method_not_allowed"),
    .request("method: PUT of events", "PUT", "/events", 405, "method_not_allowed", body: "1"),
    .request("method: POST of a probe", "POST", "/health/ready", 405, "method_not_allowed"),

    // §1 paths
    path("an empty segment", "x//y"), path("a slash at the end", "x/"), path("a slash at the beginning", "/x"),
    path("a dot", "x/./y"), path("two dots", ".."), path("two encoded dots", "x/%2E%2e/y"),
    path("two encoded slashes", "x%2F%2fy"), path("a slash and an encoded one", "x/%2Fy"),
    path("an encoded slash at the end", "x%2F"), path("an encoded slash at the beginning", "%2fx"),
    path("a star", "x/*"), path("two stars", "**/x"), path("an encoded star", "%2A"),
    path("a control character above ASCII", "%C2%85"), path("no UTF-8", "%FF"), path("a surrogate", "%ED%A0%80"),
    path("33 segments", Array(repeating: "x", count: 33).joined(separator: "/")),
    path("a segment of 256 bytes", String(repeating: "x", count: 256)),
    path("1025 bytes", longPath),

    // §1 time to live
    ttl("no unit", "60"), ttl("no number", "s"), ttl("nothing", ""), ttl("nothing of it", "0s"),
    ttl("a sign", "-1s"), ttl("a fraction", "1.5s"), ttl("a space", "1%20s"), ttl("another unit", "1w"),
    ttl("capital letters", "1S"), ttl("two", "1h30m"), ttl("over the limit", "3601s"),
    ttl("too many digits", "1" + String(repeating: "0", count: 12) + "ms"),
    ttl("the most that can be written", "999999999999d"), ttl("other digits", "%D9%A1s"),

    // §2.1 patches
    patch("no media type", "{}", 415, "unsupported_patch"),
    patch("of JSON", "{}", 415, "unsupported_patch", "Content-Type: application/json"),
    patch("two media types", "{}", 415, "unsupported_patch", mergePatch, jsonPatch),
    patch("no media type at all", "{}", 415, "unsupported_patch", "Content-Type: patch"),
    patch("compressed", "{}", 415, "unsupported_encoding", mergePatch, "Content-Encoding: gzip"),
    patch("no JSON", "{", 400, "bad_json", mergePatch), patch("nothing", "", 400, "bad_json", jsonPatch),
    patch("a number of too many digits", digits, 400, "bad_json", mergePatch),
    patch(
      "an operation with a number of too many digits", #"[{"op":"add","path":"/x","value":\#(digits)}]"#, 400,
      "bad_json",
      jsonPatch),
    patch("an object of operations", "{}", 400, "bad_patch", jsonPatch),
    patch("an unknown operation", #"[{"op":"spam","path":""}]"#, 400, "bad_patch", jsonPatch),
    patch("a path that is none", #"[{"op":"remove","path":"x"}]"#, 400, "bad_patch", jsonPatch),
    patch("a test that fails", #"[{"op":"test","path":"","value":2}]"#, 409, "patch_conflict", jsonPatch),
    patch("a place that is not there", #"[{"op":"remove","path":"/x"}]"#, 409, "patch_conflict", jsonPatch),
    patch("another revision", "{}", 412, "precondition_failed", mergePatch, "If-Match: \"e.9\""),
    patch("a result over the limit", #"{"x":"\#(long)"}"#, 413, "body_too_large", mergePatch),
    .request(
      "patch: of what is not there", "PATCH", "/properties/none", 404, "not_found", fields: jsonPatch, body: "[]"),
    .request("patch: the store is full", "PATCH", "/properties/new", 507, "store_full", fields: mergePatch, body: "{}"),
    .request(
      "patch: an expression that does not hold", "PATCH", "/properties/a?if=value+==+2", 412, "precondition_failed",
      fields: mergePatch, body: "{}"),
    .request(
      "patch: no time to live", "PATCH", "/properties/a?ttl=1", 400, "bad_duration", fields: mergePatch, body: "{}"),

    // §2.1 waiting
    .request("wait: for nothing", "GET", "/properties/a?wait=1s", 400, "bad_query"),
    .request("wait: no length of time", "GET", "/properties/a?since=e.1&wait=1", 400, "bad_duration"),
    .request("wait: longer than may be", "GET", "/properties/a?since=e.1&wait=6m", 400, "bad_duration"),
    .request("wait: no cursor", "GET", "/properties/a?since=1&wait=1s", 400, "bad_cursor"),
    .request("wait: no expression", "GET", "/properties/a?until=value+>&wait=1s", 400, "bad_filter"),
    .request("wait: an expression on a change", "GET", "/properties/a?until=oldValue+==+1", 400, "bad_filter"),
    .request("wait: no path", "GET", "/properties/a//b?until=true&wait=1s", 400, "bad_path"),

    // §2.9 signals
    .request("signal: no JSON", "POST", "/signals/a", 400, "bad_json", body: "front"),
    .request("signal: no path", "POST", "/signals/a//b", 400, "bad_path", body: "1"),
    .request("signal: a pattern", "POST", "/signals/*", 400, "bad_path", body: "1"),
    .request("signal: remember is no truth value", "POST", "/signals/a?remember=1", 400, "bad_query", body: "1"),
    .request("signal: an unknown parameter", "POST", "/signals/a?ttl=1s", 400, "unknown_parameter", body: "1"),
    .request("signal: a message over the limit", "POST", "/signals/a", 413, "body_too_large", body: "\"\(long)\""),
    .request(
      "signal: compressed", "POST", "/signals/a", 415, "unsupported_encoding", fields: "Content-Encoding: br", body: "1"
    ),
    .request("events: signals and properties", "GET", "/events?signals=a&match=a", 400, "bad_query"),
    .request("events: a signal that is no pattern", "GET", "/events?signals=a//b", 400, "bad_pattern"),
    .request("events: value of a signal", "GET", "/events?signals=a&where=value+==+1", 400, "bad_filter"),

    // §2.11 histories
    history("nothing is kept", "", "no_history", 404),
    history("an unknown parameter", "?since=e.1", "unknown_parameter"),
    history("a limit of 0", "?limit=0"), history("a limit of 10001", "?limit=10001"),
    history("a step that is none", "?step=soon", "bad_duration"), history("a step of 0", "?step=0s", "bad_duration"),
    history("a step of 999 ms", "?step=999ms", "bad_duration"), history("a step of 367d", "?step=367d", "bad_duration"),
    history("a bound that is none", "?from=yesterday"), history("an end that is none", "?to=24h"),
    history("a cursor with a step", "?from=e.1&step=1m"), history("an end before its beginning", "?from=-1h&to=-2h"),
    history("the same of cursors", "?from=e.2&to=e.1"), history("another epoch", "?from=x.1", "bad_cursor"),
    history("no JSON Pointer", "?pointer=a", "bad_pointer"),
    .request("history: no path", "GET", "/history/", 404, "no_such_route"),
    .request("history: a path that is none", "GET", "/history/a//b", 400, "bad_path"),
    .request("history: PUT", "PUT", "/history/a", 405, "method_not_allowed", body: "1"),
    .request("history: another media type", "GET", "/history/a", 406, "not_acceptable", fields: "Accept: image/png"),

    // §2.10 timers
    timer("no JSON", "{", "bad_json"), timer("no object", "5"), timer("no time", #"{"message":1}"#),
    timer("two times", #"{"after":"1s","every":"1s"}"#),
    timer("an unknown member", #"{"after":"1s","ttl":"1s"}"#, "unknown_member"),
    timer("no length of time", #"{"after":"soon"}"#, "bad_duration"), timer("a number", #"{"after":1}"#),
    timer("too often", #"{"every":"9ms"}"#, "bad_duration"), timer("too late", #"{"after":"3601s"}"#, "bad_duration"),
    timer("no time of day", #"{"at":"2026-01-02"}"#, "bad_duration"),
    timer("a day that is none", #"{"at":"2026-02-29T00:00:00Z"}"#, "bad_duration"),
    timer("a time that is over", #"{"at":"2026-01-02T03:04:05Z"}"#, "bad_duration"),
    timer("a message over the limit", #"{"after":"1s","message":"\#(long)"}"#, "body_too_large", 413),
    .request("timer: no path", "PUT", "/timers/a//b", 400, "bad_path", body: #"{"after":"1s"}"#),
    .request(
      "timer: compressed", "PUT", "/timers/a", 415, "unsupported_encoding", fields: "Content-Encoding: br", body: "{}"),
    .request("timer: a parameter", "PUT", "/timers/a?after=1s", 400, "unknown_parameter", body: "{}"),
    .request("timer: GET of none", "GET", "/timers/a", 404, "no_such_timer"),
    .request("timer: HEAD of none", "HEAD", "/timers/a", 404, "no_such_timer"),
    .request("timer: DELETE of none", "DELETE", "/timers/a", 404, "no_such_timer"),
    .request("timers: a page of nothing", "GET", "/timers?limit=0", 400, "bad_query"),
    .request("timers: a filter", "GET", "/timers?where=true", 400, "unknown_parameter"),
    .request("timers: after no path", "GET", "/timers?after=a//b", 400, "bad_path"),

    // §2.1 reading
    .request("GET: what is not there", "GET", "/properties/none", 404, "not_found"),
    .request("HEAD: what is not there", "HEAD", "/properties/none", 404, "not_found"),
    .request("GET: beneath a property", "GET", "/properties/a/b", 404, "not_found"),
    .request("GET: an unknown parameter", "GET", "/properties/a?pointers=/x", 400, "unknown_parameter"),
    .request("GET: a parameter twice", "GET", "/properties/a?pointer=/x&pointer=/x", 400, "bad_query"),
    .request("GET: a parameter that is no UTF-8", "GET", "/properties/a?pointer=%FF", 400, "bad_query"),
    .request("GET: a pointer without a slash", "GET", "/properties/b?pointer=x", 400, "bad_pointer"),
    .request("GET: a pointer with a wrong escape", "GET", "/properties/b?pointer=/~2", 400, "bad_pointer"),
    .request("GET: a pointer to nothing", "GET", "/properties/b?pointer=/x/2", 404, "pointer_not_found"),
    .request("GET: a pointer behind the last element", "GET", "/properties/b?pointer=/x/-", 404, "pointer_not_found"),
    .request(
      "GET: If-Match of another value", "GET", "/properties/a", 412, "precondition_failed", fields: "If-Match: \"e.9\""),
    .request("GET: If-Match of what is not there", "GET", "/properties/none", 404, "not_found", fields: "If-Match: *"),
    .request(
      "GET: If-Match of a part that is not there", "GET", "/properties/b?pointer=/y", 404, "pointer_not_found",
      fields: "If-Match: \"e.9\""),
    .request(
      "GET: If-None-Match of a part that is not there", "GET", "/properties/b?pointer=/y", 404, "pointer_not_found",
      fields: "If-None-Match: *"),
    .request("GET: If-Match that is no tag", "GET", "/properties/a", 400, "bad_condition", fields: "If-Match: e.1"),
    .request(
      "GET: If-None-Match that is no tag", "GET", "/properties/a", 400, "bad_condition", fields: "If-None-Match: \"e.1"),

    // §2.1 writing
    put("value: nothing", ""), put("value: white space", "  \n"), put("value: half an object", #"{"x":"#),
    put("value: a leading zero", "01"), put("value: a number with a plus", "+1"), put("value: a bare point", "1."),
    put("value: NaN", "NaN"), put("value: capital letters", "True"), put("value: single quotes", "'x'"),
    put("value: a comma at the end", "[1,]"), put("value: a comment", "1 // one"), put("value: two values", "1 2"),
    put("value: an unknown escape", #""\x""#), put("value: a control character in a string", "\"\u{1}\""),
    put("value: a name without quotes", "{x:1}"), put("value: a byte order mark", "\u{FEFF}1"),
    Refusal(
      rule: "value: no UTF-8",
      deed: .bytes(
        Array("PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n".utf8) + [0x22, 0xC3, 0x28, 0x22]),
      answer: .status(400, "bad_json"), lives: true),
    put(
      "value: 257 levels", deep),
    put("value: over the limit", "\"\(long)\"", 413, "body_too_large"),
    put("value: compressed", "1", 415, "unsupported_encoding", "Content-Encoding: gzip"),
    put("value: a part of one", "1", 400, "partial_content", "Content-Range: bytes 0-0/2"),
    .request("PUT: always is neither true nor false", "PUT", "/properties/a?always=1", 400, "bad_query", body: "2"),
    .request("PUT: an unknown parameter", "PUT", "/properties/a?alway=true", 400, "unknown_parameter", body: "2"),
    .request(
      "PUT: more than a quota admits", "PUT", "/properties/a", 507, "quota_exceeded", body: "\"\(long.prefix(1500))\""),
    .request("PUT: a new property when the store is full", "PUT", "/properties/new", 507, "store_full", body: "1"),
    put("condition: another value", "2", 412, "precondition_failed", "If-Match: \"e.9\""),
    put("condition: a list without the value", "2", 412, "precondition_failed", "If-Match: \"e.9\", \"e.8\""),
    put("condition: another epoch", "2", 412, "precondition_failed", "If-Match: \"f.1\""),
    put("condition: a weak tag never matches strongly", "2", 412, "precondition_failed", "If-Match: W/\"e.1\""),
    put("condition: a tag of another kind", "2", 412, "precondition_failed", "If-Match: \"abc\""),
    put("condition: it is there already", "2", 412, "precondition_failed", "If-None-Match: *"),
    put("condition: it has that value", "2", 412, "precondition_failed", "If-None-Match: \"e.1\""),
    put("condition: no tag", "2", 400, "bad_condition", "If-Match: 1"),
    put("condition: a tag that does not end", "2", 400, "bad_condition", "If-None-Match: \"e.1"),
    put("condition: two that exclude each other", "2", 400, "bad_condition", "If-Match: *", "If-None-Match: *"),
    put(
      "condition: a date beside If-None-Match", "2", 400, "bad_condition", "If-None-Match: \"e.9\"",
      "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"),
    .request(
      "condition: what is not there has no value", "PUT", "/properties/new", 412, "precondition_failed",
      fields: "If-Match: *", body: "1"),
    .request(
      "condition: an expression that fails", "PUT", "/properties/a?if=value%20%3E%201", 412, "precondition_failed",
      body: "2"),
    .request(
      "condition: an expression in error", "PUT", "/properties/a?if=value.x%20%3E%201", 412, "precondition_failed",
      body: "2"),
    .request("condition: no expression", "PUT", "/properties/a?if=value%20%3E", 400, "bad_filter", body: "2"),
    .request(
      "condition: an expression over changes", "PUT", "/properties/a?if=oldValue%20%3D%3D%201", 400, "bad_filter",
      body: "2"),
    .request("DELETE: what is not there", "DELETE", "/properties/none", 404, "not_found"),
    .request(
      "DELETE: If-Match of what is not there", "DELETE", "/properties/none", 404, "not_found", fields: "If-Match: *"),
    .request("DELETE: an expression on what is not there", "DELETE", "/properties/none?if=false", 404, "not_found"),
    .request(
      "DELETE: If-Unmodified-Since of what is not there", "DELETE", "/properties/none", 404, "not_found",
      fields: "If-Unmodified-Since: Fri, 02 Jan 2026 03:04:04 GMT"),
    .request(
      "PATCH: If-Match of what is not there", "PATCH", "/properties/none", 404, "not_found", fields: "If-Match: *",
      "Content-Type: application/json-patch+json", body: "[]"),
    .request(
      "PATCH: If-Match for a merge that would make it", "PATCH", "/properties/none", 412, "precondition_failed",
      fields: "If-Match: *", "Content-Type: application/merge-patch+json", body: "{}"),
    .request(
      "DELETE: another value", "DELETE", "/properties/a", 412, "precondition_failed", fields: "If-Match: \"e.9\""),
    .request("DELETE: an expression that fails", "DELETE", "/properties/a?if=false", 412, "precondition_failed"),
    .request("DELETE: always is for sets", "DELETE", "/properties/a?always=true", 400, "unknown_parameter"),

    // §2.1 computed properties
    formula("nothing", ""), formula("half an expression", "1 +"), formula("a variable of filters", "value + 1"),
    formula("all properties at once", "size(properties)"),
    formula("a key that is not constant", #"["a", "b"].map(k, properties[k])"#),
    formula("a key that is no path", #"properties["a//b"]"#), formula("a text without an end", "'x"),
    formula("its own value", "properties.a + 1", 409, "formula_cycle"),
    formula("more inputs than allowed", manyInputs, 400, "too_many_inputs"),
    formula("a condition that does not hold", "1", 412, "precondition_failed", "If-None-Match: *"),
    .request(
      "formula: always is for values", "PUT", "/properties/a?always=true", 400, "bad_query",
      fields: "Content-Type: application/cel", body: "1"),
    .request(
      "formula: a new property when the store is full", "PUT", "/properties/new", 507, "store_full",
      fields: "Content-Type: application/cel", body: "1"),
    operation("define: no formula", #"{"op":"define","path":"b"}"#),
    operation(
      "define: a formula that is not valid", #"{"op":"define","path":"b","formula":"1 +"}"#, 400, "bad_formula"),
    operation(
      "define: its own value", #"{"op":"define","path":"b","formula":"properties.b"}"#, 409, "formula_cycle"),
    operation(
      "define: a value beside the formula", #"{"op":"define","path":"b","formula":"1","value":1}"#, 400,
      "unknown_member"),

    // §2.2
    .request("list: an unknown parameter", "GET", "/properties?matsch=a", 400, "unknown_parameter"),
    .request("list: limit 0", "GET", "/properties?limit=0", 400, "bad_query"),
    .request("list: a limit over the limit", "GET", "/properties?limit=51", 400, "bad_query"),
    .request("list: a limit that is no number", "GET", "/properties?limit=ten", 400, "bad_query"),
    .request("list: a limit with a sign", "GET", "/properties?limit=%2B5", 400, "bad_query"),
    .request("list: a limit that overflows", "GET", "/properties?limit=99999999999999999999", 400, "bad_query"),
    .request("list: two limits", "GET", "/properties?limit=5&limit=5", 400, "bad_query"),
    .request("list: no pattern", "GET", "/properties?match=a//b", 400, "bad_pattern"),
    .request("list: an empty pattern", "GET", "/properties?match=", 400, "bad_pattern"),
    .request(
      "list: more patterns than allowed", "GET", "/properties?match=a&match=a&match=a&match=a&match=a", 400,
      "too_many_patterns"),
    .request("list: after is no path", "GET", "/properties?after=*", 400, "bad_path"),
    .request("list: no expression", "GET", "/properties?where=(", 400, "bad_filter"),
    .request("list: an expression with an unknown name", "GET", "/properties?where=valeu%3D%3D1", 400, "bad_filter"),
    .request("list: an expression over changes", "GET", "/properties?where=op%3D%3D'set'", 400, "bad_filter"),
    .request("list: an expression over the limit", "GET", "/properties?where=\(longExpression)", 400, "bad_filter"),
    .request(
      "list: an expression that is nested too deep", "GET", "/properties?where=\(nestedExpression)", 400, "bad_filter"),
    .request(
      "list: nothing that is accepted", "GET", "/properties", 406, "not_acceptable", fields: "Accept: text/html"),

    // §2.3
    transaction("no JSON", "{", 400, "bad_json"), transaction("no object", "[]"), transaction("no operations", "{}"),
    transaction("operations are no array", #"{"operations":{}}"#),
    transaction("an unknown member", #"{"operations":[],"operation":[]}"#, 400, "unknown_member"),
    transaction(
      "more operations than allowed",
      fiveOperations, 400, "too_many_operations"),
    .request("transaction: a parameter", "POST", "/transactions?if=true", 400, "unknown_parameter", body: "{}"),
    .request(
      "transaction: compressed", "POST", "/transactions", 415, "unsupported_encoding", fields: "Content-Encoding: br",
      body: "{}"),
    operation("an operation that is no object", "5"), operation("no op", #"{"path":"b","value":1}"#),
    operation("an unknown op", #"{"op":"add","path":"b","value":1}"#, 400, "unknown_type"),
    operation("no path", #"{"op":"set","value":1}"#), operation("no value", #"{"op":"set","path":"b"}"#),
    operation("a path that is none", #"{"op":"set","path":"b//c","value":1}"#, 400, "bad_path"),
    operation("a value with delete", #"{"op":"delete","path":"b","value":1}"#, 400, "unknown_member"),
    operation("an unknown member of an operation", #"{"op":"delete","path":"b","of":1}"#, 400, "unknown_member"),
    operation("an expression that is a number", #"{"op":"delete","path":"b","if":1}"#),
    operation(
      "an expression that does not hold", #"{"op":"delete","path":"b","if":"value == 1"}"#, 412, "precondition_failed"),
    operation("an expression on a transition", #"{"op":"delete","path":"b","if":"op == 'set'"}"#, 400, "bad_filter"),
    operation("a time to live that is none", #"{"op":"set","path":"b","value":1,"ttl":"0s"}"#, 400, "bad_duration"),
    operation("a time to live of what is deleted", #"{"op":"delete","path":"b","ttl":"1s"}"#, 400, "unknown_member"),
    operation("a path twice", #"{"op":"delete","path":"a"}"#, 400, "duplicate_path"),
    operation("a condition that is no cursor", #"{"op":"delete","path":"b","ifMatch":"\"e.1\""}"#, 400, "bad_cursor"),
    operation(
      "a condition that is no star", #"{"op":"delete","path":"b","ifNoneMatch":"e.1"}"#, 400, "bad_condition"),
    operation(
      "two conditions", #"{"op":"delete","path":"b","ifMatch":"e.1","ifNoneMatch":"*"}"#, 400, "bad_condition"),
    operation(
      "a condition that fails", #"{"op":"set","path":"b","value":2,"ifMatch":"e.9"}"#, 412, "precondition_failed"),
    operation(
      "a condition on what is not there", #"{"op":"delete","path":"none","ifMatch":"e.1"}"#, 412,
      "precondition_failed"),
    operation("a new property when the store is full", #"{"op":"set","path":"new","value":1}"#, 507, "store_full"),
    operation(
      "a value over the limit", #"{"op":"set","path":"b","value":"\#(long)"}"#, 413,
      "body_too_large"),

    // §2.4
    .request("events: no pattern", "GET", "/events", 400, "bad_query"),
    .request("events: only other parameters", "GET", "/events?initial=false", 400, "bad_query"),
    .request("events: an unknown mode", "GET", "/events?match=a&mode=fast", 400, "bad_delivery"),
    .request("events: maxRate is no number", "GET", "/events?match=a&maxRate=fast", 400, "bad_query"),
    .request("events: a deadband that is none", "GET", "/events?match=a&deadband=2%25%25", 400, "bad_delivery"),
    .request("events: take is no number", "GET", "/events?match=a&take=one", 400, "bad_delivery"),
    .request("events: an unknown field", "GET", "/events?match=a&fields=path,,value", 400, "bad_delivery"),
    .request("events: a pointer that is none", "GET", "/events?match=a&pointer=x", 400, "bad_pointer"),
    .request("events: bookmark is no number", "GET", "/events?match=a&bookmark=5s", 400, "bad_query"),
    .request("GET: watchers while waiting", "GET", "/properties/a?watchers=true&wait=1s", 400, "bad_query"),
    .request("events: batches without a WebSocket", "GET", "/events?match=a&batch=true", 400, "unknown_parameter"),
    .request("events: no expression", "GET", "/events?match=a&where=value%20%3D%201", 400, "bad_filter"),
    .request("events: since is no cursor", "GET", "/events?match=a&since=1", 400, "bad_cursor"),
    .request(
      "events: Last-Event-ID is no cursor", "GET", "/events?match=a", 400, "bad_cursor", fields: "Last-Event-ID: x"),
    .request(
      "events: Last-Event-ID twice", "GET", "/events?match=a", 400, "bad_request", fields: "Last-Event-ID: e.1",
      "Last-Event-ID: e.1", lives: false),
    .request(
      "events: exit of a transition", "GET", "/events?match=a&where=op%3D%3D'set'&exit=true", 400,
      "exit_needs_state_filter"),
    .request(
      "events: nothing that is accepted", "GET", "/events?match=a", 406, "not_acceptable",
      fields: "Accept: application/json"),

    .request(
      "explain: compressed", "POST", "/expressions/explain", 415, "unsupported_encoding",
      fields: "Content-Encoding: gzip", body: "{}"),
    .request(
      "value: compressed twice", "PUT", "/properties/a", 415, "unsupported_encoding",
      fields: "Content-Encoding: identity", "Content-Encoding: gzip", body: "1"),

    // §2.7
    .request("host: another name", "GET", "/properties/a", 421, "misdirected", fields: "Host: evil.example"),
    .request(
      "host: another name writes", "PUT", "/properties/a", 421, "misdirected", fields: "Host: evil.example:80",
      body: "2"),
    .request(
      "host: a name that ends like a served one", "GET", "/events?match=a", 421, "misdirected",
      fields: "Host: a.server.example"),
    .request(
      "host: an address that is not listened on", "GET", "/health/live", 421, "misdirected",
      fields: "Host: 192.0.2.1"),
    .request("host: nothing is there either", "GET", "/none", 421, "misdirected", fields: "Host: evil.example"),
    .request("host: that of the target counts", "GET", "http://evil.example/properties/a", 421, "misdirected"),
    .request("host: OPTIONS of the whole server", "OPTIONS", "*", 421, "misdirected", fields: "Host: evil.example"),
    .request(
      "origin: a page of elsewhere sets", "PUT", "/properties/a", 403, "origin_refused",
      fields: "Origin: https://evil.example", body: "2"),
    .request("origin: a file deletes", "DELETE", "/properties/a", 403, "origin_refused", fields: "Origin: null"),
    .request(
      "origin: another port", "PUT", "/properties/a", 403, "origin_refused", fields: "Origin: http://server.example:81",
      body: "2"),
    .request(
      "origin: a page of elsewhere transacts", "POST", "/transactions", 403, "origin_refused",
      fields: "Origin: https://evil.example", body: #"{"operations":[]}"#),
    .request(
      "origin: no origin", "PUT", "/properties/a", 400, "bad_request", fields: "Origin: evil", body: "2", lives: false),

    // §2.8
    explain("no JSON", "value > 1", 400, "bad_json"), explain("no object", "[]"), explain("no expression", "{}"),
    explain("two expressions", #"{"where":"true","formula":"true"}"#),
    explain("an expression that is no text", #"{"where":1}"#),
    explain("an unknown member", #"{"where":"true","limit":1}"#, 400, "unknown_member"),
    explain("patterns for a formula", #"{"formula":"1","match":"a"}"#, 400, "unknown_member"),
    explain("no pattern", #"{"where":"true","match":"a//b"}"#, 400, "bad_pattern"),
    .request("explain: a parameter", "POST", "/expressions/explain?x=1", 400, "unknown_parameter", body: "{}"),
    .request("explain: GET", "GET", "/expressions/explain", 405, "method_not_allowed"),

    // §10.6
    access("no JSON", "get a", 400, "bad_json"), access("no object", "[]"), access("nothing", "{}"),
    access("no operation", #"{"path":"a"}"#), access("no path", #"{"operation":"get"}"#),
    access("no pattern", #"{"operation":"watch"}"#),
    access("an unknown operation", #"{"operation":"read","path":"a"}"#),
    access("an operation that is no text", #"{"operation":1,"path":"a"}"#),
    access("an unknown member", #"{"operation":"get","path":"a","user":"ann"}"#, 400, "unknown_member"),
    access("no value to set", #"{"operation":"set","path":"a"}"#),
    access("no message to send", #"{"operation":"send","path":"a"}"#),
    access("a value to delete", #"{"operation":"delete","path":"a","value":1}"#),
    access("a path that is none", #"{"operation":"get","path":"a//b"}"#, 400, "bad_path"),
    access("a pattern for get", #"{"operation":"get","path":"a/*"}"#, 400, "bad_path"),
    access("a pattern that is none", #"{"operation":"watch","path":"a//b"}"#, 400, "bad_pattern"),
    access("somebody who cannot be", #"{"as":{"kind":"ghost"},"operation":"get","path":"a"}"#),
    access("somebody who is no object", #"{"as":"ann","operation":"get","path":"a"}"#),
    access("a request that is none", #"{"request":1,"operation":"get","path":"a"}"#),
    access(
      "a request with an unknown member", #"{"request":{"host":"x"},"operation":"get","path":"a"}"#, 400,
      "unknown_member"),
    access(
      "a value over the limit", #"{"operation":"set","path":"a","value":"\#(long)x"}"#, 413, "body_too_large"),
    .request("access: a parameter", "POST", "/access/explain?x=1", 400, "unknown_parameter", body: "{}"),
    .request("access: GET", "GET", "/access/explain", 405, "method_not_allowed"),
    .request(
      "access: compressed", "POST", "/access/explain", 415, "unsupported_encoding", fields: "Content-Encoding: gzip",
      body: "{}"),
  ]

  /// Handshakes that are refused; the connection stays one of HTTP.
  ///
  /// A field that ends with `: -` is left out.
  static let handshakes: [Refusal] = [
    .handshake("handshake: version 12", "/events", "Sec-WebSocket-Version: 12", status: 426, "upgrade_required"),
    .handshake("handshake: no version", "/events", "Sec-WebSocket-Version: -", status: 426, "upgrade_required"),
    .handshake(
      "handshake: another protocol", "/events?match=a", "Upgrade: h2c", status: 426, "upgrade_required"),
    .handshake("handshake: another host", "/events", "Host: evil.example", status: 421, "misdirected"),
    .handshake(
      "handshake: of a page whose name is rebound", "/events", "Host: evil.example", "Origin: http://evil.example",
      status: 421, "misdirected"),
    .handshake("handshake: a proxy has cut Upgrade", "/events?match=a", "Upgrade: -", status: 426, "upgrade_required"),
    .handshake(
      "handshake: a proxy has cut all of it", "/events?match=a&batch=true", "Upgrade: -", "Connection: -", status: 426,
      "upgrade_required"),
    .handshake("handshake: no key", "/events", "Sec-WebSocket-Key: -", status: 400, "bad_handshake"),
    .handshake("handshake: a short key", "/events", "Sec-WebSocket-Key: dGhlIHNhbXA=", status: 400, "bad_handshake"),
    .handshake(
      "handshake: a key that is no Base64", "/events", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!!==", status: 400,
      "bad_handshake"),
    .handshake(
      "handshake: two keys", "/events", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", status: 400, "bad_handshake"),
    .handshake(
      "handshake: a subprotocol that is no token", "/events", "Sec-WebSocket-Protocol: a b", status: 400,
      "bad_handshake"),
    .handshake("handshake: another route", "/properties/none", status: 404, "not_found"),
    .handshake("handshake: an unknown parameter", "/events?watch=a", status: 400, "unknown_parameter"),
    .handshake("handshake: no expression", "/events?match=a&where=)", status: 400, "bad_filter"),
    .handshake("handshake: no pattern", "/events?match=/", status: 400, "bad_pattern"),
    .handshake(
      "handshake: a page of elsewhere", "/events", "Origin: https://evil.example", status: 403, "origin_refused"),
    .handshake("handshake: a sandboxed page", "/events", "Origin: null", status: 403, "origin_refused"),
  ]
}
