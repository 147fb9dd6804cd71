// SPDX-License-Identifier: MIT
import Glibc

/// Gives this process as many descriptors as the system lets it have.
///
/// Hundreds of servers and their clients are open at once, and a user has 1024 descriptors at first.
func raiseDescriptorLimit() {
  var limit = rlimit()
  // The pointers are used during the calls.
  guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
  limit.rlim_cur = min(limit.rlim_max, 65_536)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
