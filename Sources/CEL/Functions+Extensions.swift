// SPDX-License-Identifier: MIT

/// The extension libraries that implementations of the language share.
extension Functions {
  static let strings: [Signature] = [
    .member("charAt", .charAt, [.string, .int], .string),
    .member("indexOf", .indexOf, [.string, .string], .int),
    .member("indexOf", .indexOf, [.string, .string, .int], .int),
    .member("lastIndexOf", .lastIndexOf, [.string, .string], .int),
    .member("lastIndexOf", .lastIndexOf, [.string, .string, .int], .int),
    .member("lowerAscii", .lowerAscii, [.string], .string),
    .member("upperAscii", .upperAscii, [.string], .string),
    .member("replace", .replace, [.string, .string, .string], .string),
    .member("replace", .replace, [.string, .string, .string, .int], .string),
    .member("split", .split, [.string, .string], .list(.string)),
    .member("split", .split, [.string, .string, .int], .list(.string)),
    .member("substring", .substring, [.string, .int], .string),
    .member("substring", .substring, [.string, .int, .int], .string),
    .member("trim", .trim, [.string], .string),
    .member("join", .join, [.list(.string)], .string),
    .member("join", .join, [.list(.string), .string], .string),
    .member("format", .format, [.string, .list(.dyn)], .string),
    .member("reverse", .reverse, [.string], .string),
    .global("strings.quote", .quote, [.string], .string),
  ]

  static let lists: [Signature] = [
    .member("distinct", .distinct, [.list(.a)], .list(.a)),
    .member("flatten", .flatten, [.list(.a)], .list(.dyn)),
    .member("flatten", .flatten, [.list(.a), .int], .list(.dyn)),
    .member("reverse", .reverse, [.list(.a)], .list(.a)),
    .member("slice", .slice, [.list(.a), .int, .int], .list(.a)),
    .member("sort", .sort, [.list(.a)], .list(.a)),
    .member("first", .first, [.list(.a)], .optional(.a)),
    .member("last", .last, [.list(.a)], .optional(.a)),
    .global("lists.range", .range, [.int], .list(.int)),
  ]

  static let math: [Signature] =
    [
      Signature(
        name: "math.greatest", function: .greatest, isMember: false, parameters: [.dyn], result: .dyn, isVariadic: true
      ),
      Signature(
        name: "math.least", function: .least, isMember: false, parameters: [.dyn], result: .dyn, isVariadic: true),
    ]
    + [("math.ceil", Function.ceil), ("math.floor", .floor), ("math.round", .round), ("math.trunc", .trunc)].map {
      .global($0, $1, [.double], .double)
    }
    + [("math.isNaN", Function.isNaN), ("math.isInf", .isInf), ("math.isFinite", .isFinite)].map {
      .global($0, $1, [.double], .bool)
    }
    + [CELType.int, .uint, .double].flatMap { type -> [Signature] in
      [
        .global("math.abs", .abs, [type], type), .global("math.sign", .sign, [type], type),
        .global("math.sqrt", .sqrt, [type], .double),
      ]
    }
    + [CELType.int, .uint].flatMap { type -> [Signature] in
      [
        .global("math.bitAnd", .bitAnd, [type, type], type), .global("math.bitOr", .bitOr, [type, type], type),
        .global("math.bitXor", .bitXor, [type, type], type), .global("math.bitNot", .bitNot, [type], type),
        .global("math.bitShiftLeft", .bitShiftLeft, [type, .int], type),
        .global("math.bitShiftRight", .bitShiftRight, [type, .int], type),
      ]
    }

  static let optionals: [Signature] = [
    .global("optional.of", .optionalOf, [.a], .optional(.a)),
    .global("optional.ofNonZeroValue", .optionalOfNonZeroValue, [.a], .optional(.a)),
    .global("optional.none", .optionalNone, [], .optional(.open)),
    .member("hasValue", .hasValue, [.optional(.a)], .bool),
    .member("value", .value, [.optional(.a)], .a),
    .member("or", .or, [.optional(.a), .optional(.a)], .optional(.a)),
    .member("orValue", .orValue, [.optional(.a), .a], .a),
  ]

  static let encodings: [Signature] = [
    .global("base64.encode", .base64Encode, [.bytes], .string),
    .global("base64.decode", .base64Decode, [.string], .bytes),
  ]
}
