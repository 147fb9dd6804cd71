// SPDX-License-Identifier: MIT

/// All properties of a store as they were at one revision.
///
/// An immutable value. Taking it costs the same with one property as with a million; while
/// it is kept, the store copies the parts of its tree that it changes.
public struct StoreSnapshot: Sendable {
  /// The history that the revision belongs to.
  public let epoch: Epoch
  /// The revision of the last change that the snapshot includes.
  public let revision: Revision
  private let tree: PathTree

  init(epoch: Epoch, revision: Revision, tree: PathTree) {
    self.epoch = epoch
    self.revision = revision
    self.tree = tree
  }

  /// The position of the snapshot in the history.
  public var cursor: Cursor { Cursor(epoch: epoch, revision: revision) }

  /// The number of properties.
  public var count: Int { tree.count }

  /// The property at the path, nil when there is none.
  public func get(_ path: PropertyPath) -> StoredValue? {
    tree.value(at: path)
  }

  /// The property at the path with these UTF-8 bytes, nil when there is none or they are no path.
  public func get(bytes: Span<UInt8>) -> StoredValue? {
    tree.value(at: bytes)
  }

  /// The properties that match one of the patterns, in path order, after `after`.
  ///
  /// - Parameter after: Any path, whether there is a property or not; nil for the beginning.
  public func scan(match patterns: [PathPattern] = [.all], after: PropertyPath? = nil) -> PropertyScan {
    PropertyScan(tree, matching: patterns, after: after)
  }

  /// Up to `limit` properties that match one of the patterns, in path order, after `after`.
  public func list(match patterns: [PathPattern] = [.all], after: PropertyPath? = nil, limit: Int) -> PropertyPage {
    var scan = scan(match: patterns, after: after)
    var properties: [StoredValue] = []
    while properties.count < limit, let value = scan.next() { properties.append(value) }
    let isLast = properties.isEmpty || scan.next() == nil
    return PropertyPage(properties: properties, next: isLast ? nil : properties.last?.path)
  }
}

/// A page of a list of properties.
public struct PropertyPage: Sendable, Equatable {
  /// The properties, in path order.
  public let properties: [StoredValue]
  /// The `after` of the next page.
  ///
  /// Nil when this page is the last.
  public let next: PropertyPath?
}
