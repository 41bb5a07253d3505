import ParseProtocol

/// A query for the objects of a class.
public struct Query: Sendable {
    /// The class whose objects are looked for.
    public var className: String
    /// Field names, `-name` for descending, `$score` for the rank of a `$text` search; as the last one `$natural` for
    /// the order in which objects were made, which is also what decides between equal ones.
    public var order: [String]
    /// Rows at most; 0 gives none (with `wantsCount` only the count). Negative values count as 0.
    public var limit: Int
    /// Matches that are passed over before the page begins.
    public var skip: Int
    /// Adds `count`, the number of all matches.
    public var wantsCount: Bool
    /// Fields wanted; empty means all. `objectId`, `createdAt`, `updatedAt` and `ACL` are always there. A
    /// dotted name reaches into Objects, and into those in arrays. `$score` is the rank of a `$text` search, which
    /// takes the place of a field `score`.
    public var keys: [String]
    /// Keys that mean all fields and the rank.
    static let allAndScore = ["*", "$score"]
    /// Fields that are not wanted, by dotted names as in `keys`.
    public var excludeKeys: [String]
    /// The place where a page that goes on by cursors begins: empty for the first page, then the cursor that came with
    /// the page before, or the objectId of its last object. Nil for pages by `skip`.
    public var after: String?
    /// Classes that other services keep, so that a query that looks into their objects is refused and not answered as
    /// if there were none; `*` for every class that is not in this store.
    public var foreignClasses: Set<String> = []
    /// Classes whose objects a webhook may hide, so that a query that looks into them past it is refused.
    public var hookedClasses: Set<String> = []
    /// Bytes that whoever asks has room for; a larger answer is not made (`FoundPage.bytesNeeded`). Nil: as many as the
    /// store allows.
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

/// The answer to a query, ready to be sent.
public struct FoundPage: Sendable {
    /// `{"results":[…]}`, with `"count":n` when it was asked for, and `"cursor":"…"` for a query with `after`.
    public var body: [UInt8]
    /// Objects in `results`.
    public var rows: Int
    /// 0, or what the answer may have instead of `Query.answerBytesMax`; then there is no body. Estimated by the first
    /// rows.
    public var bytesNeeded = 0
    /// Who else would get the same page.
    public var sharing = AnswerSharing.nobody
}

/// The outcome of a create.
public struct Created: Sendable {
    /// The id that the object got.
    public var objectId: String
    /// The time of the create, which is also its `updatedAt`.
    public var createdAt: Timestamp
    /// The object as it was stored.
    public var document: JSON
    /// The answer for the client: `objectId` and `createdAt`.
    public var answer: JSON
}

/// The outcome of an update.
public struct Updated: Sendable {
    /// The object as it was stored before.
    public var before: JSON
    /// The object as it is stored now.
    public var document: JSON
    /// The answer for the client: `updatedAt` and the resulting values of fields changed by an operator, as far as the
    /// caller may read them.
    public var answer: JSON
}
