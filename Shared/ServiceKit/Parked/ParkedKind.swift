import Messages
import ObjectStore
import ParseProtocol

/// A kind of work that a receiver refused for good. The service keeps each refused piece until an operator has it done
/// again or drops it. A kind is a table, or a state of its rows: parked rows are not due, so they delay no others.
public struct ParkedKind: Sendable {
    /// A refused piece of work, as operators see it.
    public struct Item: Sendable {
        /// Names the item within its kind.
        public let id: String
        /// A short description without secrets.
        public let about: String
        /// Why it was refused, in the receiver's words.
        public let reason: String
        /// When it was parked.
        public let since: Timestamp
        /// Attempts before that.
        public let attempts: Int64
        /// Further members of the reply, such as `orderId`.
        public let more: [String: JSON]

        /// An item; `more` must not name the other members.
        public init(
            id: String, about: String, reason: String, since: Timestamp, attempts: Int64, more: [String: JSON] = [:]
        ) {
            self.id = id
            self.about = about
            self.reason = reason
            self.since = since
            self.attempts = attempts
            self.more = more
        }

        func json(_ kind: String) -> JSON {
            let fields: [String: JSON] = [
                "kind": .string(kind), "id": .string(id), "about": .string(about), "reason": .string(reason),
                "since": .string(since.iso), "attempts": .int(attempts),
            ]
            return .object(more.merging(fields) { $1 })
        }
    }

    /// The newest items, `limit` at most.
    public typealias List = @Sendable (_ limit: Int64, _ reader: StoreReader) throws -> [Item]
    /// The number of all items.
    public typealias Count = @Sendable (_ reader: StoreReader) throws -> Int64
    /// Changes an item that is parked, and returns it as it was. Nil when it is not parked.
    public typealias Change = @Sendable (_ id: String, _ transaction: StoreTransaction) throws -> Item?

    /// One word: `mail`.
    public let name: String
    /// The areas whose operators see and change the items.
    public let areas: [OperatorArea]
    /// The areas whose operators may give items up.
    public let dropAreas: [OperatorArea]
    /// Reads the items.
    public let list: List
    /// Counts the items.
    public let count: Count
    /// Makes an item due again.
    public let retry: Change
    /// Gives an item up.
    public let drop: Change

    /// A kind whose items the operators of these areas see and change.
    /// - Parameter dropAreas: nil for the same areas.
    public init(
        _ name: String, for areas: [OperatorArea], dropAreas: [OperatorArea]? = nil, list: @escaping List,
        count: @escaping Count, retry: @escaping Change, drop: @escaping Change
    ) {
        self.name = name
        self.areas = areas
        self.dropAreas = dropAreas ?? areas
        self.list = list
        self.count = count
        self.retry = retry
        self.drop = drop
    }
}
