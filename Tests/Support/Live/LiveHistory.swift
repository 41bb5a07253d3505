import ParseProtocol

/// A history of writes and of the events that live query subscribers received, checked by `contradictions`. Pure.
///
/// The property is the promise of docs/guides/livequery.md: one order of all writes explains everything. The order
/// agrees with real time (an operation that ended before another began comes first) and with the order of each
/// subscriber's events. A subscriber receives each write that matters to its query and its rights at that moment, once
/// and as the correct event, from `subscribe` until its connection is closed with notice.
package struct LiveHistory: Sendable {
    /// A moment of any monotonic clock.
    package typealias Moment = Int64

    /// The time from a request to its answer. The operation takes effect at one moment within it.
    package struct Span: Sendable, Hashable {
        package let begin: Moment
        package let end: Moment

        package init(_ begin: Moment, _ end: Moment) {
            self.begin = begin
            self.end = end
        }

        func precedes(_ other: Span) -> Bool { end < other.begin }
    }

    /// A write that was committed. Writes of one object do not overlap.
    package struct Write: Sendable {
        package let objectId: String
        /// Grows with each write of the object. It is also stored in the object as `version`, so that an event
        /// identifies its write.
        package let version: Int64
        /// All stored fields, with `version` and `ACL`; nil for a deletion.
        package let fields: [String: JSON]?
        package let span: Span

        package init(_ objectId: String, version: Int64, _ fields: [String: JSON]?, _ span: Span) {
            self.objectId = objectId
            self.version = version
            self.fields = fields
            self.span = span
        }
    }

    /// A subscriber's identity and roles.
    package struct Reader: Sendable {
        package var isMaster = false
        /// Nil for a guest.
        package var userId: String?
        /// The roles at the start.
        package var roles: Set<String> = []
        /// Later sets of roles, one change after the other.
        package var changes: [(span: Span, roles: Set<String>)] = []
        /// The call that revoked the session.
        package var revoked: Span?

        package init(isMaster: Bool = false, userId: String? = nil) {
            self.isMaster = isMaster
            self.userId = userId
        }

        /// The roles after `count` changes.
        func roles(after count: Int) -> Set<String> { count == 0 ? roles : changes[count - 1].roles }

        /// The possible numbers of role changes that took effect before an operation within a span.
        func changeCounts(within span: Span) -> ClosedRange<Int> {
            let least = changes.count { $0.span.precedes(span) }
            return least...max(least, changes.count { !span.precedes($0.span) })
        }

        /// Whether the reader may read an object.
        func mayRead(_ fields: [String: JSON], roles: Set<String>) -> Bool {
            guard !isMaster, let access = fields["ACL"]?.objectValue else { return true }
            let names = ["*"] + (userId.map { [$0] } ?? []) + roles.map { "role:\($0)" }
            return names.contains { access[$0]?["read"] == true }
        }
    }

    /// A subscription's query.
    package struct Query: Sendable {
        package let keys: [String]
        package let watch: [String]
        /// Whether an object matches the condition.
        package let fits: @Sendable ([String: JSON]) -> Bool

        /// - Parameter keys: empty for all fields; otherwise it includes `version`.
        package init(
            keys: [String] = [], watch: [String] = [], _ fits: @escaping @Sendable ([String: JSON]) -> Bool
        ) {
            self.keys = keys
            self.watch = watch
            self.fits = fits
        }

        /// The object as an event shows it, without its times, which are not compared.
        func shown(_ fields: [String: JSON], _ objectId: String) -> JSON {
            var shown = fields.filter { keys.isEmpty || keys.contains($0.key) || $0.key == "ACL" }
            shown["objectId"] = .string(objectId)
            return .object(shown)
        }
    }

    /// An event that a subscriber received.
    package struct Event: Sendable, Equatable, CustomStringConvertible {
        /// `create`, `enter`, `update`, `leave` or `delete`.
        package let kind: String
        package let object: JSON
        package let original: JSON?

        package init(_ kind: String, _ object: JSON, original: JSON? = nil) {
            self.kind = kind
            self.object = Self.compared(object)
            self.original = original.map(Self.compared)
        }

        private static func compared(_ object: JSON) -> JSON {
            .object((object.objectValue ?? [:]).filter { !unwritten.contains($0.key) })
        }

        private static let unwritten: Set<String> = ["__type", "className", "createdAt", "updatedAt"]

        var objectId: String { object.objectId }

        package var description: String {
            let was = original.map { ", was version \($0["version"]?.intValue ?? -1)" } ?? ""
            return "\(kind) of \(objectId), version \(object["version"]?.intValue ?? -1)\(was)"
        }
    }

    /// How a subscription ended.
    package enum End: Sendable, Equatable {
        /// It lasted until all activity ended, and a later event arrived: no event is missing.
        case quiet
        /// The client left, or was ordered to reconnect. The last events before that may be missing.
        case cut
        /// It was ended with an error code.
        case refused(Int64)
    }

    /// A subscription on one connection, or on several connections that each resume at the cursor of the one before.
    package struct Listening: Sendable {
        package let name: String
        package var reader: Reader
        package let query: Query
        /// From `subscribe` to `subscribed`.
        package let began: Span
        /// The same span of each later connection, with the number of events received before it.
        package var resumed: [(span: Span, eventCount: Int)] = []
        package var events: [Event] = []
        package var end = End.cut

        package init(_ name: String, _ reader: Reader, _ query: Query, began: Span) {
            self.name = name
            self.reader = reader
            self.query = query
            self.began = began
        }
    }

    package var writes: [Write] = []
    package var listenings: [Listening] = []

    package init() {}

    /// Contradictions as text; empty when one order explains the history.
    package var contradictions: [String] {
        var judgement = LiveJudgement(writes)
        for listening in listenings { judgement.judge(listening) }
        return judgement.found + [judgement.order.contradiction].compactMap(\.self)
    }
}
