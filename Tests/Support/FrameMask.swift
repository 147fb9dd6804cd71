// SPDX-License-Identifier: MIT

package import SignalHTTP

extension FrameMask {
  /// Any mask.
  package static func random() -> FrameMask { FrameMask(key: .random(in: 0 ... .max)) }
}
