// SPDX-License-Identifier: MIT

/// A fixed piece of memory that one loop receives into: allocated once, given back with its owner.
@safe final class RawBuffer {
  let bytes: UnsafeMutableRawBufferPointer

  init(count: Int) { unsafe bytes = .allocate(byteCount: count, alignment: 64) }

  deinit { unsafe bytes.deallocate() }
}
