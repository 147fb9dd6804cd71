// SPDX-License-Identifier: MIT

import CLibFuzzer
import Glibc

/// The command `Fuzz <target> [libFuzzer options] [corpus folders]`.
@main
enum Main {
  static func main() {
    guard target != nil else {
      print("usage: Fuzz <target> [libFuzzer options] [corpus folders]")
      print("targets: \(FuzzTarget.all.map(\.name).joined(separator: " "))")
      exit(64)
    }
    restartWithoutBacktraces()

    // libFuzzer gets the arguments without the target. They live as long as the process.
    var arguments = CommandLine.arguments
    arguments.remove(at: 1)
    var pointers = arguments.map { strdup($0) } + [nil]
    var count = CInt(arguments.count)
    let status = pointers.withUnsafeMutableBufferPointer { buffer in
      var base = buffer.baseAddress
      return LLVMFuzzerRunDriver(&count, &base) { data, size in
        // The input lives for this call.
        Main.target?.run(UnsafeBufferPointer(start: data, count: size).span)
        return 0
      }
    }
    exit(status)
  }

  /// What the first argument names.
  ///
  /// A constant, because libFuzzer's callback cannot carry anything.
  private static let target = CommandLine.arguments.dropFirst().first.flatMap { name in
    FuzzTarget.all.first { $0.name == name }
  }

  /// Turns Swift's crash reporter off.
  ///
  /// It and the address sanitizer's wait for each other, so that a crash would hang. The runtime reads the setting
  /// before main: it takes another start.
  private static func restartWithoutBacktraces() {
    guard getenv("SWIFT_BACKTRACE") == nil else { return }
    setenv("SWIFT_BACKTRACE", "enable=no", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
  }
}
