// SPDX-License-Identifier: MIT
import SignalAccess
import SignalStore

extension Commands {
  /// Refuses to tell what the server counts to whom the rules do not let see it.
  func checkMetrics(as caller: Caller) throws(Problem) {
    guard let rights = rights(of: caller), !rights.maySeeMetrics else { return }
    let isUnknown = caller.identity == nil && access.canIdentify
    throw Problem(isUnknown ? .unauthenticated : .forbidden, "Not allowed to see the metrics.")
  }

  /// The store in numbers.
  var figures: StoreFigures { store.figures }
  /// How records have been written; nil when a restart loses everything.
  var storageActivity: StorageActivity? { store.storageActivity }
}
