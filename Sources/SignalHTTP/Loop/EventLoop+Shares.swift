// SPDX-License-Identifier: MIT

/// Serving members whose requests take long, behind the others (`LoopShares`).
extension EventLoop {
  /// Asks for `proceed` when it is the member's turn among those whose requests take long.
  ///
  /// The caller keeps track of whether it has asked.
  func waitInLine(_ member: any LoopMember) { heavy.append(member) }

  /// Lets those who wait in line proceed, as far as the others leave them time.
  func serveHeavy() {
    shares.resume(at: monotonicNanoseconds())
    // Those who ask again meanwhile are behind these.
    let waiting = heavy.count
    var served = 0
    while served < waiting, !shares.putsOffLine {
      heavy[served].proceed(on: self)
      shares.servedInLine()
      served += 1
    }
    // The loop may have been stopped.
    heavy.removeFirst(min(served, heavy.count))
  }

  /// Serves the members that have been deferred to this turn, the first ones of `toProceed`, as many as there is time for,
  /// and as long as more may be sent.
  func serveDeferred(_ count: Int) {
    let begin = monotonicNanoseconds()
    shares.resume(at: begin)
    var served = 0
    while served < count, served == 0 || shares.mark < begin + LoopShares.deferredTime && !hasSentEnough {
      toProceed[served].proceed(on: self)
      served += 1
    }
    // Those who ask again meanwhile are behind these.
    toProceed.removeFirst(served)
  }

  /// Notes that a member has been served.
  ///
  /// - Parameters:
  ///   - begin: For how long this thread had run before, where it has to be known for how long it ran since.
  ///   - isNew: The member was new.
  ///   - isCut: It was given less than its share of a turn, so that the piece says nothing about its requests.
  /// - Returns: Its load from now on.
  func noteServed(
    _ load: LoopShares.Load, since begin: UInt64?, isNew: Bool, isCut: Bool
  ) -> LoopShares.Load {
    var load = load
    let used = begin.map { threadNanoseconds() - $0 }
    shares.served(until: monotonicNanoseconds(), used: used, &load, isNew: isNew, isCut: isCut)
    return load
  }
}
