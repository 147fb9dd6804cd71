// SPDX-License-Identifier: MIT

extension ByteView {
  /// Calls `body` with the bytes as a span, valid during the call: for modules that do not know `ByteView`.
  @inline(__always)
  package func withSpan<Result, Failure>(_ body: (Span<UInt8>) throws(Failure) -> Result) throws(Failure) -> Result {
    let outcome: Swift.Result<Result, Failure> = unsafe withUnsafeBytes { bytes in
      do throws(Failure) {
        // The span does not outlive the call, and the view's memory does.
        return .success(try body(unsafe Span(_unsafeElements: bytes)))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }
}
