// SPDX-License-Identifier: MIT

/// How much is used of each quota, for each value of its captures.
///
/// A look-up allocates nothing: only captures that are new take memory, until the last of their properties is gone.
struct QuotaBook: Sendable {
  let quotas: [Quota]
  /// For each quota, what is used, by the captures.
  private var used: [[[UInt8]: QuotaUse]]
  /// The captures that are looked up; kept to reuse the storage.
  private var captures: [UInt8] = []

  init(_ quotas: [Quota] = []) {
    self.quotas = quotas
    used = quotas.map { _ in [:] }
  }

  var isEmpty: Bool { quotas.isEmpty }

  /// What is used of a quota, by the bytes of the captures, each with a slash after it.
  func use(of quota: Int) -> [[UInt8]: QuotaUse] { used[quota] }

  // MARK: Counting

  /// Counts a change that is made.
  mutating func count(_ change: Change) { add(QuotaUse(change.new) - QuotaUse(change.old), at: change.path) }

  /// Counts a change of what is used at a path.
  mutating func add(_ growth: QuotaUse, at path: PropertyPath) {
    if growth.isZero { return }
    for index in quotas.indices where quotas[index].pattern.pattern.matches(path) {
      find(index, path)
      let sum = used[index][captures, default: QuotaUse()] + growth
      used[index][captures] = sum.isZero ? nil : sum
    }
  }

  /// Counts what is to be added by an operation together with others.
  func add(_ growth: QuotaUse, at path: PropertyPath, to claims: inout QuotaClaims) {
    if growth.isZero { return }
    for index in quotas.indices where quotas[index].pattern.pattern.matches(path) {
      var key = QuotaClaims.Key(quota: index)
      quotas[index].pattern.appendCaptures(of: path, to: &key.captures)
      claims.growth[key, default: QuotaUse()] = claims.growth[key, default: QuotaUse()] + growth
    }
  }

  private mutating func find(_ quota: Int, _ path: PropertyPath) {
    captures.removeAll(keepingCapacity: true)
    quotas[quota].pattern.appendCaptures(of: path, to: &captures)
  }

  // MARK: Judging

  /// Why an operation that adds something at a path is not admitted; nil when it is.
  mutating func excess(of growth: QuotaUse, at path: PropertyPath) -> QuotaExcess? {
    guard growth.properties > 0 || growth.bytes > 0 else { return nil }
    for index in quotas.indices where quotas[index].pattern.pattern.matches(path) {
      find(index, path)
      let use = used[index][captures] ?? QuotaUse()
      if let excess = quotas[index].excess(of: growth, growth, over: use, at: path) { return excess }
    }
    return nil
  }

  /// The same for an operation together with others.
  ///
  /// - Parameter others: What others add, or all together, if `isClaimed`.
  func excess(
    of growth: QuotaUse, at path: PropertyPath, with others: QuotaClaims, isClaimed: Bool
  ) -> QuotaExcess? {
    guard growth.properties > 0 || growth.bytes > 0 else { return nil }
    for index in quotas.indices where quotas[index].pattern.pattern.matches(path) {
      var key = QuotaClaims.Key(quota: index)
      quotas[index].pattern.appendCaptures(of: path, to: &key.captures)
      let use = used[index][key.captures] ?? QuotaUse()
      let claimed = others.growth[key] ?? QuotaUse()
      let all = isClaimed ? claimed : claimed + growth
      if let excess = quotas[index].excess(of: growth, all, over: use, at: path) { return excess }
    }
    return nil
  }
}

/// What several operations, or the changes of a draft, add to what is used.
struct QuotaClaims: Sendable {
  struct Key: Hashable {
    let quota: Int
    var captures: [UInt8] = []
  }

  var growth: [Key: QuotaUse] = [:]
}

extension Quota {
  /// - Parameters:
  ///   - own: What the operation itself adds: one that adds nothing is admitted whatever there is.
  ///   - growth: What is added together.
  fileprivate func excess(
    of own: QuotaUse, _ growth: QuotaUse, over use: QuotaUse, at path: PropertyPath
  ) -> QuotaExcess? {
    if let properties, own.properties > 0, growth.properties > 0, use.properties > properties - growth.properties {
      return QuotaExcess(
        self, path, .properties, allowed: properties, used: use.properties, added: growth.properties)
    }
    if let bytes, own.bytes > 0, growth.bytes > 0, use.bytes > bytes - growth.bytes {
      return QuotaExcess(self, path, .bytes, allowed: bytes, used: use.bytes, added: growth.bytes)
    }
    return nil
  }
}

/// A count of all properties by other quotas, some at a time, while the store is used.
struct QuotaRecount: Sendable {
  /// The maximum number of properties that are counted while others wait.
  static let propertiesAtATime = 1000

  private(set) var book: QuotaBook
  /// What is up to there has been counted; nil at the beginning.
  private var reached: PropertyPath?

  init(_ quotas: [Quota]) { book = QuotaBook(quotas) }

  /// Counts a change among what has been counted.
  mutating func count(_ change: Change) {
    if let reached, change.path <= reached { book.count(change) }
  }

  /// Counts the next properties.
  ///
  /// - Returns: Whether none is left.
  mutating func proceed(in snapshot: StoreSnapshot) -> Bool {
    var scan = snapshot.scan(after: reached)
    var budget = Self.propertiesAtATime
    while let property = scan.next(visiting: &budget) {
      book.add(QuotaUse(property), at: property.path)
      reached = property.path
    }
    return scan.isAtEnd
  }
}
