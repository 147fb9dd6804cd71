// SPDX-License-Identifier: MIT

/// What the system says of the process at one moment.
struct ProcessFigures {
  /// Processor time in nanoseconds.
  let processorTime: Int
  let residentBytes: Int
  let virtualBytes: Int
  let openDescriptors: Int
  let mostDescriptors: Int
  /// When it began, in milliseconds since 1970; nil when the system does not say.
  let start: Int64?

  /// Asks the system; takes some microseconds, and some milliseconds with ten thousand descriptors before Linux 6.2.
  init() {
    processorTime = processorNanoseconds()
    (virtualBytes, residentBytes) = memoryUse()
    (openDescriptors, mostDescriptors) = descriptorUse()
    start = processStart()
  }
}
