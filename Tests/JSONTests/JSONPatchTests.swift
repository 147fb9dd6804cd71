// SPDX-License-Identifier: MIT
import Testing

@testable import JSON

/// What one patch makes of one value, or why it does not.
struct PatchCase: Sendable, CustomTestStringConvertible {
  let rule: String
  let value: String
  let patch: String
  /// The result as it is written; nil when the patch is refused.
  let result: String?
  let reason: JSONPatchError.Reason?

  init(_ rule: String, _ value: String, _ patch: String, gives result: String) {
    (self.rule, self.value, self.patch, self.result, reason) = (rule, value, patch, result, nil)
  }

  init(_ rule: String, _ value: String, _ patch: String, fails reason: JSONPatchError.Reason) {
    (self.rule, self.value, self.patch, result, self.reason) = (rule, value, patch, nil, reason)
  }

  var testDescription: String { rule }

  func outcome(_ limits: JSONPatch.Limits = JSONPatch.Limits()) throws -> Result<String, JSONPatchError> {
    let (value, patch) = (try JSONText(validating: value), try JSONText(validating: patch))
    return Result { () throws(JSONPatchError) in try JSONPatch(patch, limits: limits).apply(to: value).description }
  }
}

@Suite("JSON Patch, RFC 6902")
struct JSONPatchTests {
  /// RFC 6902 appendix A, in its order.
  static let appendix: [PatchCase] = [
    PatchCase(
      "A.1 a member is added", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#,
      gives: #"{"foo":"bar","baz":"qux"}"#),
    PatchCase(
      "A.2 an element is added", #"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
      gives: #"{"foo":["bar","qux","baz"]}"#),
    PatchCase(
      "A.3 a member is removed", #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#,
      gives: #"{"foo":"bar"}"#),
    PatchCase(
      "A.4 an element is removed", #"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#,
      gives: #"{"foo":["bar","baz"]}"#),
    PatchCase(
      "A.5 a value is replaced in its place", #"{"baz":"qux","foo":"bar"}"#,
      #"[{"op":"replace","path":"/baz","value":"boo"}]"#, gives: #"{"baz":"boo","foo":"bar"}"#),
    PatchCase(
      "A.6 a value is moved", #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
      #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
      gives: #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
    PatchCase(
      "A.7 an element is moved", #"{"foo":["all","grass","cows","eat"]}"#,
      #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#, gives: #"{"foo":["all","cows","eat","grass"]}"#),
    PatchCase(
      "A.8 a test succeeds", #"{"baz":"qux","foo":["a",2,"c"]}"#,
      #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
      gives: #"{"baz":"qux","foo":["a",2,"c"]}"#),
    PatchCase(
      "A.9 a test fails", #"{"baz":"qux"}"#, #"[{"op":"test","path":"/baz","value":"bar"}]"#, fails: .testFailed),
    PatchCase(
      "A.10 an object is added", #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
      gives: #"{"foo":"bar","child":{"grandchild":{}}}"#),
    PatchCase(
      "A.11 members nobody knows are ignored", #"{"foo":"bar"}"#,
      #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#, gives: #"{"foo":"bar","baz":"qux"}"#),
    PatchCase(
      "A.12 nothing is added to what is not there", #"{"foo":"bar"}"#,
      #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#, fails: .notFound),
    PatchCase(
      "A.13 of two ops the last counts, and lacks what it needs", #"{"foo":"bar"}"#,
      #"[{"op":"add","path":"/baz","value":"qux","op":"move"}]"#, fails: .missing("from")),
    PatchCase(
      "A.14 ~ is unescaped once", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#,
      gives: #"{"/":9,"~1":10}"#),
    PatchCase(
      "A.15 a string is no number", #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":"10"}]"#,
      fails: .testFailed),
    PatchCase(
      "A.16 an array is added to an array", #"{"foo":["bar"]}"#,
      #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#, gives: #"{"foo":["bar",["abc","def"]]}"#),
  ]

  private static func patch(_ operation: String) -> String { "[{\(operation)}]" }

  /// What implementations have got wrong, after the public json-patch-tests.
  static let places: [PatchCase] = [
    PatchCase("no operations change nothing", #"{"foo":1}"#, "[]", gives: #"{"foo":1}"#),
    PatchCase("add replaces", #"{"a":null}"#, patch(#""op":"add","path":"/a","value":1"#), gives: #"{"a":1}"#),
    PatchCase("the whole is replaced by add", "{}", patch(#""op":"add","path":"","value":[]"#), gives: "[]"),
    PatchCase("the whole is replaced by replace", #""x""#, patch(#""op":"replace","path":"","value":7"#), gives: "7"),
    PatchCase("into an empty array", "[]", patch(#""op":"add","path":"/0","value":"x""#), gives: #"["x"]"#),
    PatchCase("- is behind the last", "[1,2]", patch(#""op":"add","path":"/-","value":3"#), gives: "[1,2,3]"),
    PatchCase("the count is behind the last", "[1,2]", patch(#""op":"add","path":"/2","value":3"#), gives: "[1,2,3]"),
    PatchCase("the beginning", "[1,2]", patch(#""op":"add","path":"/0","value":0"#), gives: "[0,1,2]"),
    PatchCase("behind the end", "[1,2]", patch(#""op":"add","path":"/3","value":0"#), fails: .badIndex),
    PatchCase("before the beginning", "[1,2]", patch(#""op":"add","path":"/-1","value":0"#), fails: .badIndex),
    PatchCase("a name in an array", "[1,2]", patch(#""op":"add","path":"/x","value":0"#), fails: .badIndex),
    PatchCase("a leading zero", "[1,2]", patch(#""op":"test","path":"/01","value":2"#), fails: .badIndex),
    PatchCase("two zeros", "[1,2]", patch(#""op":"test","path":"/00","value":1"#), fails: .badIndex),
    PatchCase("an exponent", "[1,2]", patch(#""op":"replace","path":"/1e0","value":1"#), fails: .badIndex),
    PatchCase("an exponent on the way", "[1,[2]]", patch(#""op":"remove","path":"/1e0/0""#), fails: .badIndex),
    PatchCase("a name like an exponent", #"{"1e0":1}"#, patch(#""op":"remove","path":"/1e0""#), gives: "{}"),
    PatchCase("- is no element", "[1,2]", patch(#""op":"remove","path":"/-""#), fails: .badIndex),
    PatchCase(
      "a name that is a number", #"{"a":1}"#, patch(#""op":"add","path":"/0","value":2"#), gives: #"{"a":1,"0":2}"#),
    PatchCase("the empty name", "{}", patch(#""op":"add","path":"/","value":1"#), gives: #"{"":1}"#),
    PatchCase(
      "the empty name below", #"{"a":{}}"#, patch(#""op":"add","path":"/a/","value":1"#), gives: #"{"a":{"":1}}"#),
    PatchCase(
      "a name to be escaped", "{}", patch(#""op":"add","path":"/a~1\"~0\n","value":1"#), gives: #"{"a/\"~\n":1}"#),
    PatchCase(
      "two removals see each other", "[1,2,3,4]", #"[{"op":"remove","path":"/1"},{"op":"remove","path":"/2"}]"#,
      gives: "[1,3]"),
    PatchCase("a member that is not", #"{"a":1}"#, patch(#""op":"remove","path":"/b""#), fails: .notFound),
    PatchCase("an element that is not", "[1,2]", patch(#""op":"remove","path":"/2""#), fails: .badIndex),
    PatchCase("replace of what is not", #"{"a":1}"#, patch(#""op":"replace","path":"/b","value":1"#), fails: .notFound),
    PatchCase("below a number", #"{"a":1}"#, patch(#""op":"add","path":"/a/b","value":1"#), fails: .notFound),
    PatchCase("null is a value", #"{"a":null}"#, patch(#""op":"replace","path":"/a","value":1"#), gives: #"{"a":1}"#),
    PatchCase("null moves", #"{"a":null}"#, patch(#""op":"move","from":"/a","path":"/b""#), gives: #"{"b":null}"#),
    PatchCase(
      "null is added", #"{"a":1}"#, patch(#""op":"add","path":"/b","value":null"#), gives: #"{"a":1,"b":null}"#),
    PatchCase(
      "a move to the same place", #"{"a":1}"#, patch(#""op":"move","from":"/a","path":"/a""#), gives: #"{"a":1}"#),
    PatchCase(
      "a move of what is not, to the same place", "{}", patch(#""op":"move","from":"/a","path":"/a""#), fails: .notFound
    ),
    PatchCase(
      "a move into itself", #"{"a":{"b":1}}"#, patch(#""op":"move","from":"/a","path":"/a/b""#), fails: .movedIntoItself
    ),
    PatchCase(
      "a move to the top", #"{"a":{"b":1}}"#, patch(#""op":"move","from":"/a/b","path":"/a""#), gives: #"{"a":1}"#),
    PatchCase(
      "a move out of an element", #"{"a":[{"b":1}]}"#, patch(#""op":"move","from":"/a/0/b","path":"/a/1""#),
      gives: #"{"a":[{},1]}"#),
    PatchCase(
      "a copy", #"{"a":[{"b":1}]}"#, patch(#""op":"copy","from":"/a/0","path":"/c""#),
      gives: #"{"a":[{"b":1}],"c":{"b":1}}"#),
    PatchCase(
      "a copy is another value", #"{"a":[1]}"#,
      #"[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/-","value":2}]"#, gives: #"{"a":[1],"b":[1,2]}"#),
    PatchCase(
      "the whole is copied into itself", #"{"a":1}"#, patch(#""op":"copy","from":"","path":"/b""#),
      gives: #"{"a":1,"b":{"a":1}}"#),
    PatchCase("the whole is not removed", "{}", patch(#""op":"remove","path":"""#), fails: .removedWhole),
    PatchCase(
      "a failure undoes what came before", "[1]",
      #"[{"op":"add","path":"/-","value":2},{"op":"test","path":"/0","value":2}]"#, fails: .testFailed),
  ]

  /// RFC 6902 §4.6.
  static let equality: [PatchCase] = [
    ("1", "1.0", true), ("1", "1e0", true), ("100", "1E+2", true), ("0.10", "1e-1", true), ("-0", "0.0e5", true),
    ("9007199254740993", "9007199254740992", false), ("9007199254740993", "9007199254740993.000", true),
    ("1e400", "10e399", true), ("1e400", "1e401", false), ("1e-400", "0", false), ("-1", "1", false),
    ("12", "21", false), ("1", #""1""#, false), ("0", "false", false), ("null", "false", false), ("null", "null", true),
    (#""a""#, #""\u0061""#, true), (#""é""#, #""\u00e9""#, true), (#""é""#, #""e\u0301""#, false),
    (#""\/""#, #""/""#, true), (#""a""#, #""A""#, false), ("[]", "{}", false), ("[1,2]", "[2,1]", false),
    ("[1,2]", "[1,2,3]", false), ("[1,[2,{}]]", "[1.0,[2,{}]]", true),
    (#"{"a":1,"b":[2]}"#, #"{"b":[2],"a":1}"#, true), (#"{"a":1}"#, #"{"a":1,"b":2}"#, false),
    (#"{"a":1,"b":2}"#, #"{"a":1}"#, false), (#"{"a":1}"#, #"{"\u0061":1}"#, true), (#"{"a":1}"#, #"{"a":2}"#, false),
    (#"{"a":9,"a":1}"#, #"{"a":1}"#, true), (#"{"a":1,"a":9}"#, #"{"a":1}"#, false),
  ].map { left, right, areEqual in
    let patch = patch(#""op":"test","path":"/x","value":\#(right)"#)
    let value = #"{"x":\#(left)}"#
    let rule = "\(left) \(areEqual ? "is" : "is not") \(right)"
    return areEqual
      ? PatchCase(rule, value, patch, gives: value) : PatchCase(rule, value, patch, fails: .testFailed)
  }

  /// Documents that are no patches.
  static let malformed: [PatchCase] = [
    PatchCase("an object", "1", "{}", fails: .noArray),
    PatchCase("a number among operations", "1", "[1]", fails: .noObject),
    PatchCase("no op", "1", #"[{"path":""}]"#, fails: .noOp),
    PatchCase("another op", "1", patch(#""op":"spam","path":"""#), fails: .noOp),
    PatchCase("an op in capitals", "1", patch(#""op":"ADD","path":"","value":1"#), fails: .noOp),
    PatchCase("an op that is a number", "1", patch(#""op":1,"path":"""#), fails: .noOp),
    PatchCase("no path", "1", patch(#""op":"remove""#), fails: .missing("path")),
    PatchCase("a path that is a number", "1", patch(#""op":"remove","path":1"#), fails: .missing("path")),
    PatchCase(
      "a path without a slash", "1", patch(#""op":"remove","path":"a""#), fails: .badPointer("path", .missingSlash)),
    PatchCase(
      "a path with a wrong escape", "1", patch(#""op":"remove","path":"/~2""#),
      fails: .badPointer("path", .badEscape(offset: 1))),
    PatchCase("add without a value", "[1]", patch(#""op":"add","path":"/-""#), fails: .missing("value")),
    PatchCase("replace without a value", "[1]", patch(#""op":"replace","path":"/0""#), fails: .missing("value")),
    PatchCase("test without a value", "[null]", patch(#""op":"test","path":"/0""#), fails: .missing("value")),
    PatchCase("copy without from", "[1]", patch(#""op":"copy","path":"/-""#), fails: .missing("from")),
    PatchCase("move without from", #"{"a":1}"#, patch(#""op":"move","path":"""#), fails: .missing("from")),
    PatchCase(
      "from that is none", "[1]", patch(#""op":"copy","from":"x","path":"/-""#),
      fails: .badPointer("from", .missingSlash)),
  ]

  @Test(arguments: appendix + places + equality + malformed)
  func `a patch does what RFC 6902 says`(_ row: PatchCase) throws {
    switch try row.outcome() {
    case .success(let text): #expect(text == row.result)
    case .failure(let error):
      #expect(error.reason == row.reason)
      #expect(error.reason.isMalformed == Self.malformed.contains { $0.rule == row.rule } || row.rule.hasPrefix("A.13"))
      #expect(!error.description.isEmpty)
    }
  }

  @Test func `the operation that fails is named`() throws {
    let row = PatchCase(
      "", "[]", #"[{"op":"add","path":"/-","value":1},{"op":"add","path":"/-","value":1},{"op":"remove","path":"/7"}]"#,
      fails: .badIndex)
    guard case .failure(let error) = try row.outcome() else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.operation == 2)
    #expect(error.description == "operation 2: the array has no such index")
  }

  @Test func `what is not touched keeps its bytes`() throws {
    let value = #"{"n":21.50,"e":1E400,"i":9007199254740993,"s":"\u0061\/","a":1,"a":2,"x":[1,{"y":0.10}]}"#
    let row = PatchCase(
      "", value, #"[{"op":"add","path":"/x/1/z","value":1.00},{"op":"remove","path":"/x/0"}]"#, gives: "")
    #expect(
      try row.outcome().get()
        == #"{"n":21.50,"e":1E400,"i":9007199254740993,"s":"\u0061\/","a":1,"a":2,"x":[{"y":0.10,"z":1.00}]}"#)
  }

  @Test func `of members with the same name the last is the one, and none comes to light`() throws {
    let value = #"{"a":1,"b":0,"a":2}"#
    func result(_ operation: String) throws -> String {
      try PatchCase("", value, "[\(operation)]", gives: "").outcome().get()
    }
    #expect(try result(#"{"op":"test","path":"/a","value":2}"#) == value)
    #expect(try result(#"{"op":"replace","path":"/a","value":3}"#) == #"{"a":1,"b":0,"a":3}"#)
    #expect(try result(#"{"op":"remove","path":"/a"}"#) == #"{"b":0}"#)
  }
}

@Suite("JSON Patch, limits")
struct JSONPatchLimitTests {
  private func failure(_ value: String, _ patch: String, _ limits: JSONPatch.Limits) throws -> JSONPatchError.Reason? {
    guard case .failure(let error) = try PatchCase("", value, patch, gives: "").outcome(limits) else { return nil }
    return error.reason
  }

  @Test func `the number of operations`() throws {
    let operation = #"{"op":"test","path":"","value":1}"#
    let limits = JSONPatch.Limits(operations: 2)
    #expect(try failure("1", "[\(operation),\(operation)]", limits) == nil)
    #expect(
      try failure("1", "[\(operation),\(operation),\(operation)]", limits) == .tooManyOperations(limit: 2))
  }

  @Test func `the size of the result`() throws {
    let limits = JSONPatch.Limits(result: JSONLimits(bytes: 10))
    #expect(try failure("[1]", #"[{"op":"add","path":"/-","value":"xxxx"}]"#, limits) == nil)
    #expect(try failure("[1]", #"[{"op":"add","path":"/-","value":"xxxxx"}]"#, limits) == .tooLarge(limit: 10))
  }

  @Test func `copies of copies do not grow beyond measure`() throws {
    let copy = #"{"op":"copy","from":"","path":"/x"}"#
    let patch = "[" + Array(repeating: copy, count: 1000).joined(separator: ",") + "]"
    #expect(try failure("{}", patch, JSONPatch.Limits()) == .tooDeep(limit: 256))
    // Each doubles it: whichever limit it meets first, it meets one soon.
    let double = Array(repeating: #"{"op":"copy","from":"","path":"/-"}"#, count: 100).joined(separator: ",")
    let refusal = try failure("[1]", "[\(double)]", JSONPatch.Limits())
    #expect(refusal == .tooLarge(limit: 1 << 20) || refusal == .tooCostly)
    let few = Array(repeating: #"{"op":"copy","from":"","path":"/-"}"#, count: 12).joined(separator: ",")
    let small = JSONPatch.Limits(result: JSONLimits(bytes: 1000))
    #expect(try failure("[1]", "[\(few)]", small) == .tooLarge(limit: 1000))
  }

  @Test func `the depth of the result, however it comes about`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    let limits = JSONPatch.Limits(result: JSONLimits(depth: 8))
    #expect(try failure("[]", #"[{"op":"add","path":"/-","value":\#(nested(7))}]"#, limits) == nil)
    #expect(try failure("[]", #"[{"op":"add","path":"/-","value":\#(nested(8))}]"#, limits) == .tooDeep(limit: 8))
    #expect(try failure("[1]", #"[{"op":"replace","path":"/0","value":\#(nested(8))}]"#, limits) == .tooDeep(limit: 8))
    #expect(try failure("[\(nested(7))]", #"[{"op":"copy","from":"","path":"/-"}]"#, limits) == .tooDeep(limit: 8))
    #expect(
      try failure("[\(nested(7)),[]]", #"[{"op":"copy","from":"/0","path":"/1/-"}]"#, limits) == .tooDeep(limit: 8))
    let steps = String(repeating: "/0", count: 10)
    #expect(try failure("[]", #"[{"op":"remove","path":"\#(steps)"}]"#, limits) == .notFound)
  }

  @Test func `a deep value that is moved again and again does not overflow the stack`() throws {
    let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    let steps = String(repeating: "/0", count: 200)
    let move = #"{"op":"copy","from":"/a","path":"/a\#(steps)/-"},"#
    let patch = "[" + String(repeating: move, count: 500) + #"{"op":"test","path":"/b","value":1}]"#
    #expect(try failure(#"{"a":\#(deep),"b":1}"#, patch, JSONPatch.Limits()) != nil)
  }

  @Test func `the work of all operations together`() throws {
    // Elements of different sizes have to be counted up to the one that is meant.
    let large = "[[0]," + Array(repeating: "0", count: 100_000).joined(separator: ",") + "]"
    func patch(_ operation: String, _ count: Int) -> String {
      "[" + Array(repeating: operation, count: count).joined(separator: ",") + "]"
    }
    let test = #"{"op":"test","path":"/100000","value":0}"#
    #expect(try failure(large, patch(test, 1000), JSONPatch.Limits()) == .tooCostly)
    #expect(try failure(large, patch(test, 5), JSONPatch.Limits()) == nil)
    let insert = #"{"op":"add","path":"/0","value":1}"#
    #expect(try failure("[]", patch(insert, 1000), JSONPatch.Limits()) == nil)
  }
}

/// RFC 7396, its test cases in appendix A and what else there is to say.
@Suite("JSON Merge Patch, RFC 7396")
struct MergePatchTests {
  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
    (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"), (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#), ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),

    ("{}", "{}", "{}"), (#"{"a":1}"#, "{}", #"{"a":1}"#), ("7", "{}", "{}"),
    // Digits, escapes and the order of members are kept.
    (#"{"x":1.50,"\u0061":[1E2],"z":0.10}"#, #"{"z":2.00}"#, #"{"x":1.50,"\u0061":[1E2],"z":2.00}"#),
    (#"{"\u0061":1}"#, #"{"a":2}"#, #"{"\u0061":2}"#), (#"{"é":1}"#, #"{"e\u0301":2}"#, #"{"é":1,"e\u0301":2}"#),
    (#"{"a":{"b":{"c":{"d":1}}}}"#, #"{"a":{"b":{"c":{"e":2}}}}"#, #"{"a":{"b":{"c":{"d":1,"e":2}}}}"#),
    // null within an array is a value.
    ("{}", #"{"a":[null,{"b":null}]}"#, #"{"a":[null,{"b":null}]}"#),
    // Of members with the same name the last counts, and no other comes to light.
    (#"{"a":1,"b":0,"a":2}"#, #"{"c":3}"#, #"{"a":1,"b":0,"a":2,"c":3}"#),
    (#"{"a":1,"b":0,"a":2}"#, #"{"a":3}"#, #"{"b":0,"a":3}"#), (#"{"a":1,"b":0,"a":2}"#, #"{"a":null}"#, #"{"b":0}"#),
    (#"{"a":{"x":1}}"#, #"{"a":5,"a":{"y":2}}"#, #"{"a":{"x":1,"y":2}}"#),
    ("{}", #"{"a":1,"a":null}"#, "{}"), ("{}", #"{"a":null,"a":1}"#, #"{"a":1}"#),
    ("{}", #"{"a":{"x":1},"a":{"y":2}}"#, #"{"a":{"y":2}}"#),
  ])
  func `a merge patch does what RFC 7396 says`(_ value: String, _ patch: String, _ result: String) throws {
    let merged = MergePatch(try JSONText(validating: patch)).apply(to: try JSONText(validating: value))
    #expect(merged.description == result)
  }

  @Test func `what is not there is patched like an empty object`() throws {
    let patch = MergePatch(try JSONText(validating: #"{"a":1,"b":null}"#))
    #expect(patch.apply(to: nil).description == #"{"a":1}"#)
  }

  @Test func `large objects take time in proportion to their size`() throws {
    func object(_ count: Int, _ value: String) -> String {
      "{" + (0..<count).map { #""member \#($0)":\#(value)"# }.joined(separator: ",") + "}"
    }
    let patch = MergePatch(try JSONText(validating: object(20_000, "null")))
    // A search for each member among all would take minutes here.
    #expect(patch.apply(to: try JSONText(validating: object(20_000, "1"))).description == "{}")
  }

  @Test func `patches as deep as there are do not overflow the stack`() throws {
    let deep = String(repeating: #"{"a":"#, count: 256) + "1" + String(repeating: "}", count: 256)
    let patch = MergePatch(try JSONText(validating: deep))
    #expect(patch.apply(to: try JSONText(validating: deep)).description == deep)
    #expect(patch.apply(to: nil).description == deep)
  }
}
