import Messages
import ObjectStore
import ParseProtocol

/// A client's change to an object of a class with rules, on its way into the store.
public struct ProposedChange: Sendable {
    /// The kinds of changes.
    public enum Verb: Sendable { case create, update, delete }

    /// The kind of change; a create that replaces an object becomes an update.
    public package(set) var verb: Verb
    /// The class of the object.
    public let className: String
    /// Nil on create, unless the client chose one.
    public var objectId: String?
    /// The id a create gets when nobody chose one; a repetition of the create is recognised by it.
    public let proposedId: String?
    /// A create from a file, which keeps its id and times.
    public let isImported: Bool
    /// The object as the client sent it, `__op` hashes included; rules may change it. Empty on delete.
    public var object: JSON
    /// Bytes that the client sent.
    public let bytes: Int
    /// The caller whose rights count. A rule that already decided may raise it to `.master`, for instance to write
    /// fields clients cannot.
    public var caller: Caller
    /// The principal that asks, with the session the request came with.
    public let principal: Principal
    /// Fields whose stored values the outcome shows as well.
    package var shown: [String] = []
    /// Findings of `prepare` for `before`, for example a password's hash.
    public var notes: [String: JSON] = [:]

    /// A change with the rights of `principal`. `bytes` is the length of what the client sent.
    public init(
        verb: Verb, className: String, objectId: String?, proposedId: String? = nil, object: JSON,
        principal: Principal, isImported: Bool = false, bytes: Int = 0
    ) {
        self.bytes = bytes
        self.verb = verb
        self.isImported = isImported
        self.proposedId = proposedId
        self.className = className
        self.objectId = objectId
        self.object = object
        self.principal = principal
        caller = Caller(principal)
    }
}

/// The outcome of a change, on its way back to the client.
public struct ChangeOutcome: Sendable {
    /// The id of the object that was changed.
    public let objectId: String
    /// The document before; nil on create.
    public let before: JSON?
    /// The document after; nil on delete.
    public let after: JSON?
    /// The answer for the client; rules may add to it.
    public var answer: JSON
    /// Sessions the gateway must drop.
    public var forget: Forget?
}

/// The rules of a class: checks and consequences of its changes. Every method has a default that does nothing.
public protocol ClassRules: Sendable {
    /// Whether `prepare` does anything for any change. Rules without it say false: their changes need no task.
    var prepares: Bool { get }
    /// Runs first, outside any transaction: for what takes time, such as asking another service or hashing.
    /// - Throws: `ParseError` to refuse.
    func prepare(_ change: inout ProposedChange) async throws
    /// Runs in the write transaction before the change. Whoever `change.caller` is then decides about permissions.
    /// - Throws: `ParseError` to refuse.
    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws
    /// A create that turns out to be something else (an upsert) answers itself here; nil goes on as usual.
    func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome?
    /// Runs in the transaction after the change; throwing undoes the change.
    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws
}

extension ClassRules {
    /// Rules prepare unless they say otherwise.
    public var prepares: Bool { true }
    /// Prepares nothing.
    public func prepare(_ change: inout ProposedChange) async throws {}
    /// Checks nothing.
    public func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {}
    /// Replaces nothing.
    public func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? { nil }
    /// Changes nothing further.
    public func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws
    {}
}

extension ChangeOutcome {
    /// The outcome of a change that ends no session.
    public init(objectId: String, before: JSON?, after: JSON?, answer: JSON) {
        self.init(objectId: objectId, before: before, after: after, answer: answer, forget: nil)
    }
}
