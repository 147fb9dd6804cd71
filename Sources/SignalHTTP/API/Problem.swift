// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// A refusal as it is sent to a client: over HTTP as `application/problem+json` (RFC 9457), over the live protocol as
/// an `error`.
///
/// The table of codes is `docs/protocol.md` §6; a test compares the two.
struct Problem: Error {
  /// The stable identification of a refusal.
  ///
  /// The raw value is what clients compare.
  enum Code: String, CaseIterable {
    case badPath = "bad_path"
    case badPattern = "bad_pattern"
    case badQuery = "bad_query"
    case unknownParameter = "unknown_parameter"
    case badJSON = "bad_json"
    case badFilter = "bad_filter"
    case badPointer = "bad_pointer"
    case badCursor = "bad_cursor"
    case badCondition = "bad_condition"
    case badDelivery = "bad_delivery"
    case badDuration = "bad_duration"
    case badMessage = "bad_message"
    case badPatch = "bad_patch"
    case unknownType = "unknown_type"
    case unknownMember = "unknown_member"
    case exitNeedsStateFilter = "exit_needs_state_filter"
    case duplicatePath = "duplicate_path"
    case tooManyOperations = "too_many_operations"
    case tooManyPatterns = "too_many_patterns"
    case tooManySubscriptions = "too_many_subscriptions"
    case unauthenticated
    case invalidToken = "invalid_token"
    case identityMismatch = "identity_mismatch"
    case noSuchTimer = "no_such_timer"
    case noSuchSubscription = "no_such_subscription"
    case noSuchConnection = "no_such_connection"
    case forbidden
    case invalidValue = "invalid_value"
    case originRefused = "origin_refused"
    case misdirected
    case notFound = "not_found"
    case pointerNotFound = "pointer_not_found"
    case noSuchRoute = "no_such_route"
    case methodNotAllowed = "method_not_allowed"
    case notAcceptable = "not_acceptable"
    case patchConflict = "patch_conflict"
    case preconditionFailed = "precondition_failed"
    case bodyTooLarge = "body_too_large"
    case unsupportedEncoding = "unsupported_encoding"
    case unsupportedPatch = "unsupported_patch"
    case partialContent = "partial_content"
    case notImplemented = "not_implemented"
    case contended
    case storeFull = "store_full"
    case quotaExceeded = "quota_exceeded"
    case badFormula = "bad_formula"
    case isComputed = "is_computed"
    case formulaCycle = "formula_cycle"
    case tooManyComputed = "too_many_computed"
    case tooManyHeld = "too_many_held"
    case tooManyInputs = "too_many_inputs"
    case formulaTooDeep = "formula_too_deep"
    case notDurable = "not_durable"
    case readOnly = "read_only"
    case diskFull = "disk_full"
    case storageSlow = "storage_slow"
    case storageFailed = "storage_failed"
    case memoryFull = "memory_full"
    case tooManyRequests = "too_many_requests"
    case noHistory = "no_history"
    case historyBusy = "history_busy"
    case historyFailed = "history_failed"
    case noLeader = "no_leader"
    case noAnswer = "no_answer"
    case notReached = "not_reached"
    case notLeading = "not_leading"

    /// Whether a command is refused for what there is at the time, and not for what it is.
    var dependsOnState: Bool {
      switch self {
      case .notFound, .noSuchTimer, .isComputed, .patchConflict, .formulaCycle, .formulaTooDeep, .preconditionFailed,
        .storeFull, .tooManyComputed, .quotaExceeded:
        true
      default: false
      }
    }

    /// The HTTP status, also a member of the problem.
    var status: Int {
      switch self {
      case .badPath, .badPattern, .badQuery, .unknownParameter, .badJSON, .badFilter, .badPointer, .badCursor,
        .badCondition, .badDelivery, .badDuration, .badMessage, .badPatch, .unknownType, .unknownMember,
        .exitNeedsStateFilter, .duplicatePath, .tooManyOperations, .tooManyPatterns, .tooManySubscriptions,
        .tooManyHeld, .partialContent, .badFormula, .tooManyInputs, .formulaTooDeep, .notDurable:
        400
      case .unauthenticated, .invalidToken: 401
      case .originRefused, .readOnly, .forbidden: 403
      case .notFound, .pointerNotFound, .noSuchRoute, .noSuchSubscription, .noSuchTimer, .noSuchConnection,
        .noHistory:
        404
      case .methodNotAllowed: 405
      case .notAcceptable: 406
      case .isComputed, .formulaCycle, .patchConflict, .identityMismatch, .notLeading: 409
      case .preconditionFailed: 412
      case .bodyTooLarge: 413
      case .unsupportedEncoding, .unsupportedPatch: 415
      case .misdirected: 421
      case .tooManyRequests: 429
      case .invalidValue: 422
      case .notImplemented: 501
      case .contended, .storageSlow, .storageFailed, .memoryFull, .historyBusy, .historyFailed, .noLeader, .noAnswer,
        .notReached:
        503
      case .storeFull, .quotaExceeded, .tooManyComputed, .diskFull: 507
      }
    }

    /// The title, which is the same for every problem of the code.
    var title: StaticString {
      switch self {
      case .badPath: "The path is not valid"
      case .badPattern: "The pattern is not valid"
      case .badQuery: "The query is not valid"
      case .unknownParameter: "There is no such parameter"
      case .badJSON: "The text is not JSON"
      case .badFilter: "The expression is not valid"
      case .badPointer: "The JSON Pointer is not valid"
      case .badCursor: "The cursor is not valid"
      case .badCondition: "The condition is not valid"
      case .badDelivery: "The delivery asked for does not exist"
      case .badDuration: "The length of time is not valid"
      case .badMessage: "The message is not a command"
      case .unknownType: "There is no command of this type"
      case .unknownMember: "There is no such member"
      case .exitNeedsStateFilter: "Exit events need a state filter"
      case .duplicatePath: "A path stands in the transaction twice"
      case .tooManyOperations: "There are too many operations"
      case .tooManyPatterns: "The subscription has too many patterns"
      case .tooManySubscriptions: "The connection has too many subscriptions"
      case .unauthenticated: "The server has to know who asks"
      case .invalidToken: "The token is not accepted"
      case .identityMismatch: "The token is somebody else's"
      case .noSuchTimer: "There is no such timer"
      case .noSuchSubscription: "There is no such subscription"
      case .noSuchConnection: "There is no such connection"
      case .forbidden: "It is not allowed"
      case .invalidValue: "The value does not satisfy the rules"
      case .originRefused: "The origin is not allowed"
      case .misdirected: "The request is meant for another server"
      case .notFound: "There is no such property"
      case .pointerNotFound: "The value has no such part"
      case .noSuchRoute: "There is nothing here"
      case .methodNotAllowed: "The method is not allowed here"
      case .notAcceptable: "No acceptable representation"
      case .badPatch: "The patch is not valid"
      case .patchConflict: "The patch does not fit the present value"
      case .unsupportedPatch: "The kind of patch is not supported"
      case .preconditionFailed: "A condition does not hold"
      case .bodyTooLarge: "The value is too large"
      case .unsupportedEncoding: "The content encoding is not supported"
      case .partialContent: "The body is a part of a value"
      case .notImplemented: "There is no such method"
      case .contended: "Too many write at once"
      case .storeFull: "The store is full"
      case .quotaExceeded: "There is as much there as may be"
      case .badFormula: "The formula is not valid"
      case .isComputed: "The property is computed"
      case .formulaCycle: "The formula would depend on its own value"
      case .tooManyComputed: "There are too many computed properties"
      case .tooManyHeld: "The connection holds too many properties"
      case .tooManyInputs: "The formula reads too many properties"
      case .formulaTooDeep: "The formula depends on others over too many steps"
      case .notDurable: "Nothing becomes durable here"
      case .readOnly: "Nothing can be written here"
      case .diskFull: "There is no room on the disk"
      case .storageSlow: "The disk is slower than the writers"
      case .storageFailed: "The disk has failed"
      case .memoryFull: "The server has no memory left for it"
      case .tooManyRequests: "The client has used up what it may do"
      case .noHistory: "No history of the property is kept"
      case .historyBusy: "Too many ask for histories at once"
      case .historyFailed: "The history cannot be read"
      case .noLeader: "No node of the cluster decides changes"
      case .noAnswer: "It is not known whether it was done"
      case .notReached: "The server is behind"
      case .notLeading: "This node does not decide changes"
      }
    }

    /// Whether the same request may succeed later unchanged.
    var isTemporary: Bool {
      switch self {
      case .storeFull, .quotaExceeded, .contended, .diskFull, .storageSlow, .memoryFull, .tooManyRequests, .historyBusy,
        .noLeader, .notReached:
        true
      default: false
      }
    }
  }

  let code: Code
  /// A sentence for the developer who has to fix it.
  let detail: String
  /// The offset in bytes of the error in the expression, pointer or JSON text.
  var position: Int?
  /// The index of the operation of a transaction that it is about.
  var operation: Int?
  /// The stored value, for a condition that failed: a JSON value.
  var current: JSONText?
  /// The store's revision for which the refusal holds; over HTTP, a field.
  var cursor: Cursor?
  /// For `method_not_allowed`: the allowed methods.
  var allowed: StaticString?
  /// For `unsupported_patch`: whether to list what is supported.
  var acceptsPatch = false
  /// For `too_many_requests`: what has been used up.
  var exceeded: RateAccount.Refusal?
  /// For `quota_exceeded`: which quota, and whether the client is told how much of it is used.
  var quota: (excess: QuotaExcess, tellsUse: Bool)?
  /// What an audit log is told beyond the code; clients are not.
  var note: AuditNote?
  /// For `unsupported_encoding`: whether to list what is supported.
  var acceptsEncoding = false

  init(_ code: Code, _ detail: String, position: Int? = nil) {
    self.code = code
    self.detail = detail
    self.position = position
  }

  /// Writes the object; over HTTP with the `type` that RFC 9457 requires.
  func write(to text: inout [UInt8], asDocument: Bool) {
    text.append(literal: asDocument ? #"{"type":"about:blank","status":"# : #"{"status":"#)
    text.appendJSON(code.status)
    text.append(literal: #","code":""#)
    text.append(contentsOf: code.rawValue.utf8)
    text.append(literal: #"","title":""#)
    text.append(literal: code.title)
    text.append(literal: #"","detail":"#)
    text.appendJSON(detail)
    if let position {
      text.append(literal: #","position":"#)
      text.appendJSON(position)
    }
    if let operation {
      text.append(literal: #","operation":"#)
      text.appendJSON(operation)
    }
    if let current {
      text.append(literal: #","current":"#)
      text.appendJSON(current)
    }
    if let quota { Self.append(quota.excess, tellingUse: quota.tellsUse, to: &text) }
    text.append(literal: #","temporary":"#)
    text.appendJSON(code.isTemporary)
    text.append(UInt8(ascii: "}"))
  }

  private static func append(_ excess: QuotaExcess, tellingUse: Bool, to text: inout [UInt8]) {
    text.append(literal: #","quota":{"match":"#)
    text.appendJSON(excess.match)
    text.append(literal: #","captures":{"#)
    for (index, capture) in excess.captures.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(capture.name)
      text.append(UInt8(ascii: ":"))
      text.appendJSON(capture.text)
    }
    text.append(literal: #"},"of":""#)
    text.append(contentsOf: excess.measure.rawValue.utf8)
    text.append(literal: #"","allowed":"#)
    text.appendJSON(excess.allowed)
    if tellingUse {
      text.append(literal: #","used":"#)
      text.appendJSON(excess.used)
    }
    text.append(UInt8(ascii: "}"))
  }
}
