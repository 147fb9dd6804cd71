// SPDX-License-Identifier: MIT

/// Limits on a request; each is checked before memory is allocated for what exceeds it.
public struct HTTPLimits: Sendable, Equatable {
  /// Bytes of a request's head, from the first byte to the empty line; then 431.
  ///
  /// Default 16 KiB. Raise it for clients with very large cookies or tokens. A connection holds up to this much while
  /// its head is incomplete.
  public var headBytes = 16 << 10
  /// Bytes of a request's target; then 414.
  ///
  /// Default 8 KiB, what RFC 9112 §3 recommends to support.
  public var targetBytes = 8 << 10
  /// Bytes of a method; then 400.
  ///
  /// Default 32: the longest registered method has 17.
  public var methodBytes = 32
  /// Field lines of a head, and also of a trailer section; then 431.
  ///
  /// Default 100. Each loop keeps a table of so many lines, 20 bytes each.
  public var fields = 100
  /// Empty lines that are skipped before a request line (RFC 9112 §2.2); then 400.
  ///
  /// Default 4. Some old clients send one after a body. More of them could keep a connection busy to no purpose.
  public var emptyLines = 4
  /// Bytes of a body, without the framing around it; then 413.
  ///
  /// Default 1 MiB and 64 KiB: a value of the largest size that the store accepts, with some white space in it.
  public var bodyBytes = (1 << 20) + (64 << 10)
  /// Bytes of all chunk extensions of one body together; then 400.
  ///
  /// Default 4 KiB. Extensions are thrown away. Without a limit a client could send any amount of them, one-byte chunk
  /// by one-byte chunk (RFC 9112 §7.1.1).
  public var chunkExtensionBytes = 4 << 10
  /// Bytes of the trailer section of a chunked body; then 431.
  ///
  /// Default 4 KiB. Trailers are checked and thrown away.
  public var trailerBytes = 4 << 10

  /// All defaults.
  public init() {}
}
