// SPDX-License-Identifier: MIT

/// The body of a request, which may not have been sent yet.
///
/// A route refuses what the head alone decides before it reads the body, and changes nothing before: a client that
/// waits for 100 (Continue) gets the refusal without having sent the body (RFC 9110 §10.1.1).
struct RequestBody {
  private let bytes: ByteView?

  init(_ bytes: ByteView) { self.bytes = bytes }

  private init() { bytes = nil }

  /// A body that the client sends only when asked for it.
  static var awaited: RequestBody { RequestBody() }

  var isAwaited: Bool { bytes == nil }

  /// - Throws: ``APIError/bodyAwaited`` when it has not been sent.
  func read() throws(APIError) -> ByteView {
    guard let bytes else { throw .bodyAwaited }
    return bytes
  }
}
