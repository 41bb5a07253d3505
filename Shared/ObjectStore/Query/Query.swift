import ParseProtocol

/// A query for the objects of a class.
public struct Query: Sendable {
    /// The class whose objects are queried.
    public var className: String
    /// Field names, `-name` for descending, `$score` for the rank of a `$text` search. `$natural` as the last name is
    /// the order of creation, which also decides between equal rows.
    public var order: [String]
    /// Maximum rows; 0 returns none (with `wantsCount` only the count). Negative values count as 0.
    public var limit: Int
    /// Matches to skip before the page begins.
    public var skip: Int
    /// Adds `count`, the number of all matches.
    public var wantsCount: Bool
    /// Fields to return; empty means all. `objectId`, `createdAt`, `updatedAt` and `ACL` are always returned. A dotted
    /// name selects a member of an Object, also of Objects in arrays. `$score` is the rank of a `$text` search, which
    /// replaces a field `score`.
    public var keys: [String]
    /// Keys that mean all fields and the rank.
    static let allAndScore = ["*", "$score"]
    /// Fields to leave out, by dotted names as in `keys`.
    public var excludeKeys: [String]
    /// The start of a page when paging by cursors: empty for the first page, then the cursor of the previous page, or
    /// the objectId of its last object. Nil for paging by `skip`.
    public var after: String?
    /// Classes that other services store; `*` for every class that is not in this store. A query that reads their
    /// objects is refused instead of treating them as missing.
    public var foreignClasses: Set<String> = []
    /// Classes whose objects a webhook may hide. A query that reads them without the webhook is refused.
    public var hookedClasses: Set<String> = []
    /// Limit of the response's bytes on the caller's side; a larger response is not built (`FoundPage.bytesNeeded`).
    /// Nil: the store's limit applies.
    public var answerBytesMax: Int?

    var condition: Condition

    enum Condition: Sendable {
        case text([UInt8])
        case value(JSON)
    }

    /// - Parameter where: the constraints as JSON text; empty means `{}`.
    public init(
        className: String, where condition: [UInt8] = [], order: [String] = [], limit: Int = 100, skip: Int = 0,
        wantsCount: Bool = false, keys: [String] = [], excludeKeys: [String] = []
    ) {
        self.className = className
        self.condition = .text(condition)
        self.order = order
        self.limit = limit
        self.skip = skip
        self.wantsCount = wantsCount
        self.keys = keys
        self.excludeKeys = excludeKeys
    }

    /// - Parameter where: the constraints as a decoded object.
    public init(
        className: String, where condition: JSON, order: [String] = [], limit: Int = 100, skip: Int = 0,
        wantsCount: Bool = false, keys: [String] = [], excludeKeys: [String] = []
    ) {
        self.init(
            className: className, order: order, limit: limit, skip: skip, wantsCount: wantsCount, keys: keys,
            excludeKeys: excludeKeys)
        self.condition = .value(condition)
    }
}

/// The response to a query, ready to be sent.
public struct FoundPage: Sendable {
    /// `{"results":[…]}`, with `"count":n` if requested, and `"cursor":"…"` for a query with `after`.
    public var body: [UInt8]
    /// Objects in `results`.
    public var rows: Int
    /// 0, or the limit to use instead of `Query.answerBytesMax`, estimated from the first rows; then there is no body.
    public var bytesNeeded = 0
    /// The callers that would get the same page.
    public var sharing = ResponseSharing.nobody
}

/// The outcome of a create.
public struct Created: Sendable {
    /// The object's id.
    public var objectId: String
    /// The time of the create, which is also its `updatedAt`.
    public var createdAt: Timestamp
    /// The object as stored.
    public var document: JSON
    /// The response for the client: `objectId` and `createdAt`.
    public var answer: JSON
}

/// The outcome of an update.
public struct Updated: Sendable {
    /// The object as stored before.
    public var before: JSON
    /// The object as stored now.
    public var document: JSON
    /// The response for the client: `updatedAt`, and the resulting values of fields that an operation changed, if the
    /// caller may read them.
    public var answer: JSON
}
