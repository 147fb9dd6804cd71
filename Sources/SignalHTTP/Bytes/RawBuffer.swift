// SPDX-License-Identifier: MIT

/// A fixed buffer that one loop receives into: allocated once, freed with its owner.
@safe final class RawBuffer {
  let bytes: UnsafeMutableRawBufferPointer

  init(count: Int) { unsafe bytes = .allocate(byteCount: count, alignment: 64) }

  deinit { unsafe bytes.deallocate() }
}
