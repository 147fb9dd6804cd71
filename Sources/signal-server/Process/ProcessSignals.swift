// SPDX-License-Identifier: MIT
import Dispatch
import Glibc
import Synchronization

/// The process signals that the program answers: Ctrl-C, what supervisors send, and SIGHUP.
enum ProcessSignals {
  private static let ending = [SIGINT, SIGTERM]

  /// Makes each of them end the process with success, the normal end of `watch`.
  static func makeSuccess() {
    for number in ending {
      // The handler is a function without context, and `_exit` is one of the few that may be called in it.
      _ = signal(number) { _ in _exit(ExitStatus.success.rawValue) }
    }
  }

  /// Makes each of them end the process with success, after a final callback.
  static func makeSuccess(telling announce: @escaping @Sendable () -> Void) -> [any DispatchSourceSignal] {
    listen(to: ending) { _ in
      announce()
      _exit(ExitStatus.success.rawValue)
    }
  }

  /// Calls `stop` at the first of them, on a queue of its own; the second one ends the process at once, with the status
  /// that a shell gives to a process it killed.
  ///
  /// When it returns, the sources are active: a caller that learns of the server after that can end it. They replace
  /// the handling of the signal when they are activated, and until then it ends the process as usual. Ignoring it
  /// meanwhile would lose it.
  static func drain(_ stop: @escaping @Sendable () -> Void) -> [any DispatchSourceSignal] {
    let count = Count()
    return listen(to: ending) { number in
      if count.next() > 1 { _exit(128 + number) }
      stop()
    }
  }

  /// Calls `reload` at each SIGHUP, on a queue of its own, instead of the end of the process: what supervisors send for
  /// "reload your settings", and a terminal when it is closed.
  ///
  /// When it returns, the source is active. A process that was started with SIGHUP ignored (`nohup`) continues to
  /// ignore it.
  static func hangUp(_ reload: @escaping @Sendable () -> Void) -> [any DispatchSourceSignal] {
    listen(to: [SIGHUP]) { _ in reload() }
  }

  private static func listen(
    to numbers: [Int32], _ handle: @escaping @Sendable (Int32) -> Void
  ) -> [any DispatchSourceSignal] {
    let queue = DispatchQueue(label: "signal.process")
    let listening = DispatchGroup()
    let sources = numbers.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      listening.enter()
      source.setRegistrationHandler { listening.leave() }
      source.setEventHandler { handle(number) }
      source.resume()
      return source
    }
    listening.wait()
    return sources
  }

  /// Makes a write to a closed connection or pipe an error of the write, instead of the end of the process.
  static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// The number of signals received.
  private final class Count: Sendable {
    private let value = Atomic(0)
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
  }
}

/// Blocking waits, for a thread that has nothing else to do.
enum ProcessClock {
  /// Waits that long.
  static func sleep(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    // The pointer is good during the call. A process signal that does not end the process shortens the wait.
    _ = unsafe nanosleep(&left, nil)
  }
}
