// SPDX-License-Identifier: MIT

@testable import journal_writer

/// The files as they were after some of the steps of a run, or as a loss of power left them then.
struct DiskImage {
  /// How a run ends.
  enum End {
    /// The process is gone; what it has written is with the kernel.
    case crash
    /// What was not synced may be there or not, in any order, sector by sector.
    case powerLoss
  }

  private struct File {
    var durable: [UInt8] = []
    /// What was done since the last sync.
    var pending: [DiskFaults.Step.Action] = []
  }

  private(set) var files: [String: [UInt8]] = [:]

  /// - Parameter count: The number of steps that were done.
  init(_ steps: [DiskFaults.Step], through count: Int, end: End, random: inout RandomRecords.Generator) {
    var files: [String: File] = [:]
    for step in steps.prefix(count) {
      switch step.action {
      case .delete: files[step.file] = nil
      case .sync:
        let pending = files[step.file]?.pending ?? []
        files[step.file]?.pending = []
        for action in pending { DiskImage.apply(action, to: &files[step.file, default: File()].durable) }
      case .write, .truncate: files[step.file, default: File()].pending.append(step.action)
      }
    }
    for name in files.keys.sorted() {
      guard var file = files[name] else { continue }
      for action in file.pending {
        switch end {
        case .crash: DiskImage.apply(action, to: &file.durable)
        case .powerLoss: DiskImage.applySome(action, to: &file.durable, &random)
        }
      }
      self.files[name] = file.durable
    }
  }

  private static func apply(_ action: DiskFaults.Step.Action, to bytes: inout [UInt8]) {
    switch action {
    case .write(let offset, let content): write(content[...], at: offset, to: &bytes)
    case .truncate(let size): bytes.removeLast(max(0, bytes.count - size))
    case .sync, .delete: break
    }
  }

  private static func write(_ content: ArraySlice<UInt8>, at offset: Int, to bytes: inout [UInt8]) {
    let end = offset + content.count
    if bytes.count < end { bytes.append(contentsOf: repeatElement(0, count: end - bytes.count)) }
    bytes.replaceSubrange(offset..<end, with: content)
  }

  private static func applySome(
    _ action: DiskFaults.Step.Action, to bytes: inout [UInt8], _ random: inout RandomRecords.Generator
  ) {
    switch (random.next() % 3, action) {
    case (0, _): break
    case (2, .write(let offset, let content)):
      for start in stride(from: 0, to: content.count, by: 512) where random.next() % 2 == 0 {
        write(content[start..<min(start + 512, content.count)], at: offset + start, to: &bytes)
      }
    default: apply(action, to: &bytes)
    }
  }
}
