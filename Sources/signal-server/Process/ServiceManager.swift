// SPDX-License-Identifier: MIT
import Glibc

/// The service manager that started the process and waits for its notifications: systemd with `Type=notify`
/// (sd_notify(3)).
///
/// Each notification is one datagram to the unix socket that the environment variable `NOTIFY_SOCKET` names.
struct ServiceManager: Sendable {
  /// What the manager is notified of.
  enum Notification: Equatable, Sendable {
    /// The service takes connections, for the first time or after a reload.
    case ready
    /// The settings are being read anew; `ready` follows.
    case reloading(monotonicMicroseconds: UInt64)
    /// The service drains and ends.
    case stopping

    /// The text of the datagram.
    var text: String {
      switch self {
      case .ready: "READY=1\nSTATUS=serving"
      case .reloading(let time): "RELOADING=1\nMONOTONIC_USEC=\(time)\nSTATUS=reading the settings"
      case .stopping: "STOPPING=1\nSTATUS=draining"
      }
    }

    /// A reload that begins now.
    static var reloadingNow: Notification {
      var time = timespec()
      // The variable is one of this call; the clock always exists.
      _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
      return .reloading(monotonicMicroseconds: UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000)
    }
  }

  /// How long a notification may wait for room in the manager's queue.
  static let patience = Duration.seconds(1)

  /// The address as the system takes it: a path with a zero behind it, or a name in the abstract namespace with one before.
  private let address: [UInt8]

  /// - Parameter name: What `NOTIFY_SOCKET` is: a path, or `@` and an abstract name.
  /// - Throws: `SystemFailure` when that is no address of a unix socket.
  init(_ name: String) throws(SystemFailure) {
    let bytes = Array(name.utf8)
    let room = MemoryLayout<sockaddr_un>.size - (MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2)
    guard bytes.count > 1, !bytes.contains(0) else { throw SystemFailure(code: EINVAL) }
    guard bytes.count < room else { throw SystemFailure(code: ENAMETOOLONG) }
    switch bytes[0] {
    case UInt8(ascii: "/"): address = bytes + [0]
    case UInt8(ascii: "@"): address = [0] + bytes.dropFirst()
    default: throw SystemFailure(code: EAFNOSUPPORT)
    }
  }

  /// Sends a notification.
  ///
  /// - Throws: `SystemFailure` when nobody takes it within ``patience``.
  func notify(_ notification: Notification) throws(SystemFailure) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemFailure(code: errno) }
    defer { close(descriptor) }
    var wait = timeval(tv_sec: Int(Self.patience.components.seconds), tv_usec: 0)
    // Both are read during the call only.
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    // The address was checked to fit when it was made.
    unsafe withUnsafeMutableBytes(of: &name) { unsafe $0[start...].copyBytes(from: address) }
    let text = Array(notification.text.utf8)
    let length = socklen_t(start + address.count)
    // All pointers are used during the call only.
    let sent = unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe text.withUnsafeBytes { bytes in
          unsafe sendto(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), address, length)
        }
      }
    }
    guard sent == text.count else { throw SystemFailure(code: errno) }
  }
}
