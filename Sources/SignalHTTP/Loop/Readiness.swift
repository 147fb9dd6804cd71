// SPDX-License-Identifier: MIT
import CReadiness
import Glibc

/// The readiness of one descriptor after a wait.
struct ReadinessEvent {
  let token: UInt64
  /// As the kernel reports them; the flags of several waits may be combined.
  let flags: UInt32

  /// Bytes, an end or an error can be received.
  var isReadable: Bool {
    flags & (creadiness_readable | creadiness_peer_ended | creadiness_hung_up | creadiness_failed) != 0
  }
  /// There is room to send, or an error that a send will report.
  var isWritable: Bool { flags & (creadiness_writable | creadiness_hung_up | creadiness_failed) != 0 }
  /// The peer's end is already in the receive queue: no further edge will announce it.
  var isEnding: Bool { flags & (creadiness_peer_ended | creadiness_hung_up | creadiness_failed) != 0 }
}

/// The set of descriptors of one loop: add, remove, wait, event.
///
/// The platform is hidden by these four operations.
///
/// The set's own descriptor is readable while any member is ready, so one Dispatch source can represent thousands of
/// sockets.
@safe final class Readiness {
  /// How a member is watched.
  enum Interest {
    /// Read and write together, reported once per change of state. For connections: registered once, never re-armed.
    case edges
    /// Readable only, reported as long as it lasts. For the listener.
    case readableLevel
    /// Readable only, reported once per signal. For eventfd, which then never needs to be read.
    case readableEdge

    fileprivate var flags: UInt32 {
      switch self {
      case .edges: creadiness_readable | creadiness_writable | creadiness_peer_ended | creadiness_edge
      case .readableLevel: creadiness_readable
      case .readableEdge: creadiness_readable | creadiness_edge
      }
    }
  }

  /// Events fetched from the kernel in one call.
  ///
  /// They are all handled in one turn, and submitted work waits for its end: with 64 of the most expensive requests
  /// that is well below a millisecond. More would save next to nothing, as a call costs less than one request.
  static let capacity = 64

  let descriptor: Int32
  // Filled by the kernel; allocated once, freed with the set.
  private let events: UnsafeMutablePointer<epoll_event>

  init() throws(SystemError) {
    descriptor = creadiness_create()
    guard descriptor >= 0 else { throw SystemError("create an epoll set") }
    unsafe events = .allocate(capacity: Self.capacity)
  }

  deinit {
    close(descriptor)
    unsafe events.deallocate()
  }

  func add(_ member: Int32, _ interest: Interest, token: UInt64) throws(SystemError) {
    guard creadiness_add(descriptor, member, interest.flags, token) == 0 else {
      throw SystemError("add a descriptor to an epoll set")
    }
  }

  func remove(_ member: Int32) { _ = creadiness_remove(descriptor, member) }

  /// Waits at most that long and returns how many events were fetched; read them with `event`.
  func wait(milliseconds: Int32) -> Int {
    max(0, Int(unsafe creadiness_wait(descriptor, events, Int32(Self.capacity), milliseconds)))
  }

  /// An event of the last wait, by its index.
  func event(_ index: Int) -> ReadinessEvent {
    unsafe ReadinessEvent(
      token: creadiness_token(events, Int32(index)), flags: creadiness_flags(events, Int32(index)))
  }
}
