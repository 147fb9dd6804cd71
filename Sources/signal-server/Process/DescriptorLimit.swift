// SPDX-License-Identifier: MIT
import Glibc

/// How many descriptors the process may hold: every connection takes one.
enum DescriptorLimit {
  /// What the process holds besides connections: the standard streams, and what each loop and the listener need.
  private static let others = 100

  /// Raises the soft limit, which many systems set to 1024 for the sake of old programs, as far as the connections need
  /// and the hard limit allows.
  ///
  /// - Returns: how many connections fit; nil when the system does not say.
  static func raise(toServe connections: Int) -> Int? {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    // The pointers are good during the calls.
    guard unsafe getrlimit(resource, &limit) == 0 else { return nil }
    let wanted = rlim_t(connections + others)
    if limit.rlim_cur < wanted {
      limit.rlim_cur = min(wanted, limit.rlim_max)
      guard unsafe setrlimit(resource, &limit) == 0, unsafe getrlimit(resource, &limit) == 0 else { return nil }
    }
    return max(Int(clamping: limit.rlim_cur) - others, 0)
  }
}
