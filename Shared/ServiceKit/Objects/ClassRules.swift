import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// A client's change to an object of a class with rules, before it is stored.
public struct ProposedChange: Sendable {
    /// The kinds of changes.
    public enum Verb: Sendable { case create, update, delete }

    /// The kind of change; a create that replaces an object becomes an update.
    public package(set) var verb: Verb
    /// The class of the object.
    public let className: String
    /// Nil on create, unless the client chose one.
    public var objectId: String?
    /// The id for a create without a chosen id. A repeated create is recognised by it.
    public let proposedId: String?
    /// Whether the create comes from an import, which keeps its id and times.
    public let isImported: Bool
    /// The object as the client sent it, including `__op` hashes; rules may modify it. Empty on delete.
    public var object: JSON
    /// Length of the document that the client sent.
    public let bytes: Int
    /// The caller whose permissions are checked. A rule that has authorised the change may set it to `.master`, for
    /// instance to write fields that clients cannot.
    public var caller: Caller
    private let origin: Origin
    /// The principal of the request, with its session.
    public var principal: Principal { origin.principal }
    /// The request that `prepare` works for; nil for a change without one.
    public var request: ServiceRequest? { origin.request }
    /// Fields whose stored values the outcome includes.
    package var shown: [String] = []
    /// Results of `prepare` for `before`, for example a password's hash.
    public var notes: [String: JSON] = [:]

    /// An object, because a change is copied for each step, and a copy counts the references of all its parts.
    private final class Origin: Sendable {
        let principal: Principal
        let request: ServiceRequest?

        init(_ principal: Principal, _ request: ServiceRequest?) {
            self.principal = principal
            self.request = request
        }
    }

    /// A change with the rights of `principal`. `bytes` is the length of the client's document.
    public init(
        verb: Verb, className: String, objectId: String?, proposedId: String? = nil, object: JSON,
        principal: Principal, isImported: Bool = false, bytes: Int = 0, for request: ServiceRequest?
    ) {
        origin = Origin(principal, request)
        self.bytes = bytes
        self.verb = verb
        self.isImported = isImported
        self.proposedId = proposedId
        self.className = className
        self.objectId = objectId
        self.object = object
        caller = Caller(principal)
    }
}

/// The outcome of a change, before it is returned to the client.
public struct ChangeOutcome: Sendable {
    /// The id of the changed object.
    public let objectId: String
    /// The document before; nil on create.
    public let before: JSON?
    /// The document after; nil on delete.
    public let after: JSON?
    /// The reply for the client; rules may add to it.
    public var answer: JSON
    /// Sessions that the gateway must drop from its cache.
    public var forget: Forget?
    /// Whether the change is a create that was committed before, whose reply was lost.
    package var isRepeated = false
}

/// The rules of a class: checks and side effects of changes. Every method has a default that does nothing.
public protocol ClassRules: Sendable {
    /// Whether `prepare` does something. Rules that return false need no task for their changes.
    var prepares: Bool { get }
    /// Whether `prepare` of an import stores files, which a job of the writer cannot wait for (`MoveSwitch`).
    var preparesFiles: Bool { get }
    /// Runs first and outside any transaction: for slow work, such as calling another service or hashing.
    /// - Throws: `ParseError` to refuse.
    func prepare(_ change: inout ProposedChange) async throws
    /// Runs in the write transaction before the change. Permissions are then checked for `change.caller`.
    /// - Throws: `ParseError` to refuse.
    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws
    /// Handles a create that is really another change (an upsert) and returns its outcome; nil continues with the
    /// create.
    func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome?
    /// Runs in the transaction after the change; throwing rolls the change back.
    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws
    /// What no object shows and another server needs (`scripts/move-out`), of objects in the order of their ids, under
    /// the names of Parse Server's storage.
    func secrets(
        after id: String, limit: Int, in transaction: StoreTransaction
    ) throws -> [(objectId: String, secrets: JSON)]
}

extension ClassRules {
    /// True by default.
    public var prepares: Bool { true }
    /// False by default.
    public var preparesFiles: Bool { false }
    /// Prepares nothing.
    public func prepare(_ change: inout ProposedChange) async throws {}
    /// Checks nothing.
    public func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {}
    /// Replaces nothing.
    public func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? { nil }
    /// No side effects.
    public func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws
    {}
    /// Nothing.
    public func secrets(
        after id: String, limit: Int, in transaction: StoreTransaction
    ) throws -> [(objectId: String, secrets: JSON)] { [] }
}

extension ChangeOutcome {
    /// The outcome of a change that ends no session.
    public init(objectId: String, before: JSON?, after: JSON?, answer: JSON) {
        self.init(objectId: objectId, before: before, after: after, answer: answer, forget: nil)
    }
}
