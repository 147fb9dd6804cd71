// SPDX-License-Identifier: MIT

extension Refusal {
  /// Frames and messages that break RFC 6455, in its order, or a limit of ours.
  static let webSocket: [Refusal] = [
    .frames("§5.1 a frame without a mask", [0x81, 0x02, 0x7B, 0x7D], 1002),
    .frames("§5.2 RSV1", frame(0xC1, [0x31]), 1002),
    .frames("§5.2 RSV2", frame(0xA1, [0x31]), 1002),
    .frames("§5.2 RSV3", frame(0x91, [0x31]), 1002),
    .frames("§5.2 opcode 3", frame(0x83, [0x31]), 1002),
    .frames("§5.2 opcode 11", frame(0x8B), 1002),
    .frames("§5.2 a length of 16 bits that fits in 7", [0x81, 0xFE, 0x00, 0x05], 1002),
    .frames("§5.2 a length of 64 bits that fits in 16", [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002),
    .frames("§5.2 a length with its top bit set", [0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002),
    .frames("§5.4 a continuation of nothing", frame(0x80, [0x31]), 1002),
    .frames("§5.4 a message inside of a message", frame(0x01, [0x31]) + frame(0x81, [0x31]), 1002),
    .frames("§5.5 a ping in fragments", frame(0x09, [0x31]), 1002),
    .frames("§5.5 a ping of 126 bytes", frame(0x89, Array(repeating: 0x31, count: 126)), 1002),
    .frames("§5.5.1 a close with one byte", frame(0x88, [0x03]), 1002),
    .frames("§5.5.1 a reason that is no UTF-8", frame(0x88, [0x03, 0xE8, 0xFF]), 1007),
    .frames("§7.4 close code 0", frame(0x88, [0x00, 0x00]), 1002),
    .frames("§7.4 close code 999", frame(0x88, [0x03, 0xE7]), 1002),
    .frames("§7.4 close code 1004", frame(0x88, [0x03, 0xEC]), 1002),
    .frames("§7.4 close code 1005", frame(0x88, [0x03, 0xED]), 1002),
    .frames("§7.4 close code 1006", frame(0x88, [0x03, 0xEE]), 1002),
    .frames("§7.4 close code 1015", frame(0x88, [0x03, 0xF7]), 1002),
    .frames("§7.4 close code 2999", frame(0x88, [0x0B, 0xB7]), 1002),
    .frames("§7.4 close code 5000", frame(0x88, [0x13, 0x88]), 1002),
    .frames("§8.1 text that is no UTF-8", frame(0x81, [0xC3, 0x28]), 1007),
    .frames("§8.1 text that ends inside a character", frame(0x81, [0xE2, 0x82]), 1007),
    .frames("§8.1 an overlong form", frame(0x81, [0xC0, 0xAF]), 1007),
    .frames("§8.1 a surrogate", frame(0x81, [0xED, 0xA0, 0x80]), 1007),
    .frames("§8.1 no UTF-8 in the first fragment, before the last has come", frame(0x01, [0xFF]), 1007),
    .frames("§10.4 a frame over the limit", frame(0x81, Array(repeating: 0x20, count: 4097)), 1009),
    .frames("§10.4 an announcement far over the limit", [0x81, 0xFF, 0x7F] + Array(repeating: 0xFF, count: 7), 1009),
    .frames(
      "§10.4 fragments over the limit",
      frame(0x01, Array(repeating: 0x20, count: 4000)) + frame(0x00, Array(repeating: 0x20, count: 97)), 1009),
    .frames("§7.4.1 a binary message", frame(0x82, [0x7B, 0x7D]), 1003),
  ]

  private static func subscribe(
    _ rule: String, _ members: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    .message("subscribe: \(rule)", #"{"id":1,"type":"subscribe",\#(members)}"#, status, code)
  }

  private static func transaction(
    _ rule: String, _ members: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    .message("transaction command: \(rule)", #"{"id":1,"type":"transaction"\#(members)}"#, status, code)
  }

  private static func set(
    _ rule: String, _ members: String, _ status: Int = 400, _ code: String = "bad_message"
  ) -> Refusal {
    .message("set: \(rule)", #"{"id":1,"type":"set",\#(members)}"#, status, code)
  }

  private static let deep = String(repeating: "[", count: 257) + String(repeating: "]", count: 257)
  private static let long = String(repeating: "x", count: 2047)

  /// Messages of the live protocol that are refused, in the order of the document.
  ///
  /// The connection has the one subscription that it may have.
  static let live: [Refusal] = [
    .message("message: nothing", "", 400, "bad_json", hasID: false),
    .message("message: no JSON", "ping", 400, "bad_json", hasID: false),
    .message("message: half an object", #"{"id":1,"type":"ping""#, 400, "bad_json"),
    .message("message: two", #"{"id":1,"type":"ping"}{"id":2,"type":"ping"}"#, 400, "bad_json"),
    .message("message: an array", #"[{"id":1,"type":"ping"}]"#, 400, "bad_message", hasID: false),
    .message("message: null", "null", 400, "bad_message", hasID: false),
    .message("message: no id", #"{"type":"ping"}"#, 400, "bad_message", hasID: false),
    .message("message: an id that is a string", #"{"id":"1","type":"ping"}"#, 400, "bad_message", hasID: false),
    .message("message: a negative id", #"{"id":-1,"type":"ping"}"#, 400, "bad_message", hasID: false),
    .message("message: an id with a fraction", #"{"id":1.0,"type":"ping"}"#, 400, "bad_message", hasID: false),
    .message("message: an id of 2^53", #"{"id":9007199254740992,"type":"ping"}"#, 400, "bad_message", hasID: false),
    .message("message: no type", #"{"id":1}"#, 400, "bad_message"),
    .message("message: a type that is no string", #"{"id":1,"type":null}"#, 400, "bad_message"),
    .message("message: an unknown type", #"{"id":1,"type":"watch"}"#, 400, "unknown_type"),
    .message("message: capital letters", #"{"id":1,"type":"Ping"}"#, 400, "unknown_type"),
    .message("message: an unknown member", #"{"id":1,"type":"ping","at":1}"#, 400, "unknown_member"),
    .message(
      "message: a number of 1001 digits",
      #"{"id":1,"type":"set","path":"a","value":[1.\#(String(repeating: "7", count: 1000))]}"#,
      400, "bad_json"),
    .message(
      "message: 258 levels",
      #"{"id":1,"type":"set","path":"a","value":\#(deep)}"#,
      400, "bad_json"),

    subscribe("one more than allowed", #""match":"b""#, 400, "too_many_subscriptions"),
    .message(
      "subscribe: no pattern at all", #"{"id":1,"type":"subscribe"}"#, 400, "bad_message"),
    subscribe("a pattern that is a number", #""match":1"#), subscribe("no patterns in the list", #""match":[]"#),
    subscribe("a number among the patterns", #""match":["a",1]"#),
    subscribe("a pattern that is none", #""match":"a//b""#, 400, "bad_pattern"),
    subscribe("an empty pattern", #""match":"""#, 400, "bad_pattern"),
    subscribe("more patterns than allowed", #""match":["a","a","a","a","a"]"#, 400, "too_many_patterns"),
    subscribe("an expression that is a number", #""match":"a","where":1"#),
    subscribe("initial is no truth value", #""match":"a","initial":"yes""#),
    subscribe("exit is no truth value", #""match":"a","exit":1"#),
    subscribe("oldValue is no truth value", #""match":"a","oldValue":null"#),
    subscribe("since is a number", #""match":"a","since":1"#),
    subscribe("since is no cursor", #""match":"a","since":"1""#, 400, "bad_cursor"),
    subscribe("since with a leading zero", #""match":"a","since":"e.01""#, 400, "bad_cursor"),
    subscribe("delivery is no object", #""match":"a","delivery":"latest""#),
    subscribe("an unknown mode", #""match":"a","delivery":{"mode":"newest"}"#, 400, "bad_delivery"),
    subscribe("an unknown member of delivery", #""match":"a","delivery":{"rate":1}"#, 400, "unknown_member"),
    subscribe("maxRate 0", #""match":"a","delivery":{"maxRate":0}"#, 400, "bad_delivery"),
    subscribe("an infinite maxRate", #""match":"a","delivery":{"maxRate":1e400}"#, 400, "bad_delivery"),
    subscribe("maxRate is a string", #""match":"a","delivery":{"maxRate":"2"}"#),
    subscribe("maxRate for all", #""match":"a","delivery":{"mode":"all","maxRate":2}"#, 400, "bad_delivery"),
    subscribe("a negative deadband", #""match":"a","delivery":{"deadband":-1}"#, 400, "bad_delivery"),
    subscribe("a deadband that is a word", #""match":"a","delivery":{"deadband":"small"}"#),
    subscribe("a deadband of 101%", #""match":"a","delivery":{"deadband":"101%"}"#, 400, "bad_delivery"),
    subscribe("take 0", #""match":"a","take":0"#, 400, "bad_delivery"),
    subscribe("take is no integer", #""match":"a","take":1.5"#),
    subscribe("an unknown field", #""match":"a","fields":["path","age"]"#, 400, "bad_delivery"),
    subscribe("fields are no array", #""match":"a","fields":"path""#),
    subscribe("a field that is no string", #""match":"a","fields":[1]"#),
    subscribe("a pointer that is none", #""match":"a","pointer":"x""#, 400, "bad_pointer"),
    subscribe("a pointer with a bad escape", #""match":"a","pointer":"/~2""#, 400, "bad_pointer"),
    subscribe("bookmark 0", #""match":"a","bookmark":0"#, 400, "bad_delivery"),
    subscribe("a member of set", #""match":"a","path":"a""#, 400, "unknown_member"),

    .message(
      "demand: one more than allowed", #"{"id":1,"type":"subscribe","demand":["b"]}"#, 400, "too_many_subscriptions"),
    .message("demand: no pattern", #"{"id":1,"type":"subscribe","demand":[]}"#, 400, "bad_message"),
    .message("demand: a bad pattern", #"{"id":1,"type":"subscribe","demand":"a//b"}"#, 400, "bad_pattern"),
    .message(
      "demand: too many patterns", #"{"id":1,"type":"subscribe","demand":["a","a","a","a","a"]}"#, 400,
      "too_many_patterns"),
    .message("demand: and match", #"{"id":1,"type":"subscribe","demand":"a","match":"a"}"#, 400, "unknown_member"),
    .message("unsubscribe: no number", #"{"id":1,"type":"unsubscribe"}"#, 400, "bad_message"),
    .message(
      "unsubscribe: what is not", #"{"id":1,"type":"unsubscribe","subscription":2}"#, 404, "no_such_subscription"),
    .message(
      "unsubscribe: 0", #"{"id":1,"type":"unsubscribe","subscription":0}"#, 404, "no_such_subscription"),
    .message(
      "unsubscribe: a string", #"{"id":1,"type":"unsubscribe","subscription":"1"}"#, 400, "bad_message"),

    set("no path", #""value":2"#), set("no value", #""path":"a""#),
    set("a path that is a number", #""path":1,"value":2"#),
    set("a path that is none", #""path":"a/../b","value":2"#, 400, "bad_path"),
    set("a pattern for a path", #""path":"**","value":2"#, 400, "bad_path"),
    set("a control character in the path", #""path":"a\u0000","value":2"#, 400, "bad_path"),
    set("ifMatch is no cursor", #""path":"a","value":2,"ifMatch":"*""#, 400, "bad_cursor"),
    set("ifNoneMatch is no star", #""path":"a","value":2,"ifNoneMatch":"e.1""#, 400, "bad_condition"),
    set("both conditions", #""path":"a","value":2,"ifMatch":"e.1","ifNoneMatch":"*""#, 400, "bad_condition"),
    set("always is no truth value", #""path":"a","value":2,"always":1"#),
    set("it is there already", #""path":"a","value":2,"ifNoneMatch":"*""#, 412, "precondition_failed"),
    set("it has another revision", #""path":"a","value":2,"ifMatch":"e.0""#, 412, "precondition_failed"),
    set("more than a quota admits", #""path":"a","value":"\#(long.prefix(1500))""#, 507, "quota_exceeded"),
    set("the store is full", #""path":"new","value":2"#, 507, "store_full"),
    set("a value over the limit", #""path":"a","value":"\#(long)""#, 413, "body_too_large"),

    set("a time to live that is a number", #""path":"a","value":2,"ttl":60"#),
    set("a time to live without a unit", #""path":"a","value":2,"ttl":"60""#, 400, "bad_duration"),
    set("a time to live of nothing", #""path":"a","value":2,"ttl":"0s""#, 400, "bad_duration"),
    set("a time to live over the limit", #""path":"a","value":2,"ttl":"2h""#, 400, "bad_duration"),
    set("an expression that does not hold", #""path":"a","value":2,"if":"value > 1""#, 412, "precondition_failed"),
    set("a condition on the old value", #""path":"a","value":2,"if":"oldValue == 1""#, 400, "bad_filter"),
    set("an expression that is none", #""path":"a","value":2,"if":"value >""#, 400, "bad_filter"),
    .message(
      "delete: an expression that does not hold", #"{"id":1,"type":"delete","path":"a","if":"value > 1"}"#, 412,
      "precondition_failed"),

    transaction("no operations", ""), transaction("operations that are none", #","operations":1"#),
    transaction("more than there may be", #","operations":[1,2,3,4,5]"#, 400, "too_many_operations"),
    transaction("an operation of no kind", #","operations":[{"path":"a"}]"#),
    transaction("an operation of another kind", #","operations":[{"op":"get","path":"a"}]"#, 400, "unknown_type"),
    transaction(
      "a condition that does not hold",
      #","operations":[{"op":"set","path":"a","value":5},{"op":"delete","path":"b","ifMatch":"e.9"}]"#, 412,
      "precondition_failed"),
    transaction(
      "an expression that does not hold",
      #","operations":[{"op":"set","path":"a","value":5},{"op":"delete","path":"b","if":"value == 1"}]"#, 412,
      "precondition_failed"),
    transaction(
      "a path twice", #","operations":[{"op":"delete","path":"a"},{"op":"delete","path":"a"}]"#, 400, "duplicate_path"),
    transaction("an unknown member", #","operations":[],"op":"set""#, 400, "unknown_member"),

    .message("define: no formula", #"{"id":1,"type":"define","path":"a"}"#, 400, "bad_message"),
    .message("define: no expression", #"{"id":1,"type":"define","path":"a","formula":"1 +"}"#, 400, "bad_formula"),
    .message(
      "define: a circle", #"{"id":1,"type":"define","path":"a","formula":"properties['a']"}"#, 409, "formula_cycle"),
    .message(
      "define: a time to live", #"{"id":1,"type":"define","path":"a","formula":"1","ttl":"1s"}"#, 400, "unknown_member"),
    .message("patch command: neither kind", #"{"id":1,"type":"patch","path":"a"}"#, 400, "bad_message"),
    .message(
      "patch command: both kinds", #"{"id":1,"type":"patch","path":"a","merge":{},"operations":[]}"#, 400, "bad_message"
    ),
    .message(
      "patch command: operations that are none", #"{"id":1,"type":"patch","path":"a","operations":{}}"#, 400,
      "bad_patch"),
    .message(
      "patch command: a test that fails",
      #"{"id":1,"type":"patch","path":"a","operations":[{"op":"test","path":"","value":2}]}"#, 409, "patch_conflict"),
    .message("send: no path", #"{"id":1,"type":"send","message":1}"#, 400, "bad_message"),
    .message("send: a pattern", #"{"id":1,"type":"send","path":"*"}"#, 400, "bad_path"),
    .message(
      "send: remember is no truth value", #"{"id":1,"type":"send","path":"a","remember":1}"#, 400, "bad_message"),
    .message(
      "send: a message over the limit", #"{"id":1,"type":"send","path":"a","message":"\#(long)"}"#, 413,
      "body_too_large"),
    .message(
      "signals: and properties", #"{"id":1,"type":"subscribe","signals":"a","match":"a"}"#, 400, "unknown_member"),
    .message(
      "signals: one subscription more", #"{"id":1,"type":"subscribe","signals":"a"}"#, 400, "too_many_subscriptions"),
    .message("signals: no patterns", #"{"id":1,"type":"subscribe","signals":[]}"#, 400, "bad_message"),
    .message("onDisconnect: no operations", #"{"id":1,"type":"onDisconnect"}"#, 400, "bad_message"),

    .message("delete: what is not there", #"{"id":1,"type":"delete","path":"none"}"#, 404, "not_found"),
    .message(
      "delete: a condition on what is not there", #"{"id":1,"type":"delete","path":"none","ifMatch":"e.1"}"#, 404,
      "not_found"),
    .message("delete: no path", #"{"id":1,"type":"delete"}"#, 400, "bad_message"),
    .message("delete: a value", #"{"id":1,"type":"delete","path":"a","value":1}"#, 400, "unknown_member"),
    .message(
      "delete: another revision", #"{"id":1,"type":"delete","path":"a","ifMatch":"e.9"}"#, 412, "precondition_failed"),
    .message("hello: batch is no truth value", #"{"id":1,"type":"hello","batch":1}"#, 400, "bad_message"),
    .message("get: what is not there", #"{"id":1,"type":"get","path":"none"}"#, 404, "not_found"),
    .message("get: a pattern", #"{"id":1,"type":"get","path":"*"}"#, 400, "bad_path"),
  ]
}
