// SPDX-License-Identifier: MIT
import Dispatch
import Glibc
import Synchronization

/// Polls whether files have changed: by their times, sizes and inodes, so that a replaced file is also detected,
/// whatever name leads to it.
final class FileWatch: Sendable {
  /// The interval between two polls.
  static let interval = DispatchTimeInterval.seconds(30)

  private struct Stamp: Equatable {
    let device: dev_t
    let number: ino_t
    let size: off_t
    let seconds: time_t
    let nanoseconds: Int
  }

  private let paths: [String]
  private let stamps: Mutex<[Stamp?]>

  private init(_ paths: [String]) {
    self.paths = paths
    stamps = Mutex(paths.map(Self.stamp))
  }

  /// Starts polling, for as long as the returned object is retained.
  ///
  /// - Parameter changed: Called on a thread of Dispatch.
  static func begin(
    _ paths: [String], interval: DispatchTimeInterval = FileWatch.interval, changed: @escaping @Sendable () -> Void
  ) -> any DispatchSourceTimer {
    let watch = FileWatch(paths)
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
    timer.setEventHandler {
      if watch.hasChanged() { changed() }
    }
    timer.activate()
    return timer
  }

  private func hasChanged() -> Bool {
    let now = paths.map(Self.stamp)
    return stamps.withLock { stamps in
      defer { stamps = now }
      return stamps != now
    }
  }

  private static func stamp(_ path: String) -> Stamp? {
    var status = stat()
    // The system fills in the structure and retains nothing.
    guard unsafe stat(path, &status) == 0 else { return nil }
    return Stamp(
      device: status.st_dev, number: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
      nanoseconds: status.st_mtim.tv_nsec)
  }
}
