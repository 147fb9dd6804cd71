// SPDX-License-Identifier: MIT
import Glibc

/// A system call that failed: the cause is not known, so nothing is reported to the peer.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The value of `errno`, for example `EADDRINUSE`.
  public let code: Int32
  /// What was being done, as a noun phrase: "bind 127.0.0.1:8080".
  public let operation: String

  package init(_ operation: String, code: Int32 = errno) {
    self.code = code
    self.operation = operation
  }

  /// The system, or a library that we use, has no memory left.
  static func noMemory(_ operation: String) -> SystemError { SystemError(operation, code: ENOMEM) }

  /// One line for the operator: the operation and the system's description of the code.
  public var description: String { "\(operation): \(reason)" }

  /// The system's description of the code.
  var reason: String { SystemError.reason(of: code) }

  /// The system's description of a value of `errno`.
  package static func reason(of code: Int32 = errno) -> String {
    // strerror's buffer is copied into the String before anything else can call it on this thread.
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }

  /// Whether the address is in use by another process.
  var isAddressInUse: Bool { code == EADDRINUSE }
}

extension String {
  /// The text in a buffer that C has filled, up to the zero.
  init(zeroTerminated buffer: [CChar]) {
    self.init(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
