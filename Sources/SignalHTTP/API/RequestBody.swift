// SPDX-License-Identifier: MIT

/// The body of a request, which may not have come yet.
///
/// A route refuses what the head alone decides before it reads the body, and changes nothing before: a client that waits
/// for 100 (Continue) is told so without having sent it (RFC 9110 §10.1.1).
struct RequestBody {
  private let bytes: ByteView?

  init(_ bytes: ByteView) { self.bytes = bytes }

  private init() { bytes = nil }

  /// One that comes only when the client has been asked for it.
  static var awaited: RequestBody { RequestBody() }

  var isAwaited: Bool { bytes == nil }

  /// - Throws: ``APIError/bodyAwaited`` when it has not come.
  func read() throws(APIError) -> ByteView {
    guard let bytes else { throw .bodyAwaited }
    return bytes
  }
}
