import ParseProtocol

/// A history of writes and of what subscribers of live queries were told of them, to be judged by
/// `contradictions`. Pure.
///
/// What has to hold is what docs/livequery.md promises: there is one order of all writes that explains everything. It
/// agrees with what ended before something else began, and with the order in which each subscriber was told; each was
/// told of every write that means something to its query and its rights at that moment, as the event that it is, once,
/// from the moment it subscribed until its connection was given up aloud.
package struct LiveHistory: Sendable {
    /// A moment of any clock that never goes back.
    package typealias Moment = Int64

    /// The time from a request to its answer. What it asked for happened at one moment within it.
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
        /// Grows with each write of the object. It is also stored in it, as `version`, so that events tell of which
        /// write they are.
        package let version: Int64
        /// All that is stored, with `version` and `ACL`; nil for a deletion.
        package let fields: [String: JSON]?
        package let span: Span

        package init(_ objectId: String, version: Int64, _ fields: [String: JSON]?, _ span: Span) {
            self.objectId = objectId
            self.version = version
            self.fields = fields
            self.span = span
        }
    }

    /// Who subscribes.
    package struct Reader: Sendable {
        package var isMaster = false
        /// Nil for a guest.
        package var userId: String?
        /// The roles at the beginning.
        package var roles: Set<String> = []
        /// The roles from then on, one change after the other.
        package var changes: [(span: Span, roles: Set<String>)] = []
        /// The call that revoked the session.
        package var revoked: Span?

        package init(isMaster: Bool = false, userId: String? = nil) {
            self.isMaster = isMaster
            self.userId = userId
        }

        /// The roles after so many changes.
        func roles(after count: Int) -> Set<String> { count == 0 ? roles : changes[count - 1].roles }

        /// After how many of the changes something within a span may have happened.
        func changeCounts(within span: Span) -> ClosedRange<Int> {
            let least = changes.count { $0.span.precedes(span) }
            return least...max(least, changes.count { !span.precedes($0.span) })
        }

        /// Whether an object may be read.
        func mayRead(_ fields: [String: JSON], roles: Set<String>) -> Bool {
            guard !isMaster, let access = fields["ACL"]?.objectValue else { return true }
            let names = ["*"] + (userId.map { [$0] } ?? []) + roles.map { "role:\($0)" }
            return names.contains { access[$0]?["read"] == true }
        }
    }

    /// What is subscribed to.
    package struct Query: Sendable {
        package let keys: [String]
        package let watch: [String]
        /// Whether an object fits the condition.
        package let fits: @Sendable ([String: JSON]) -> Bool

        /// - Parameter keys: none for all fields; else `version` is one of them.
        package init(
            keys: [String] = [], watch: [String] = [], _ fits: @escaping @Sendable ([String: JSON]) -> Bool
        ) {
            self.keys = keys
            self.watch = watch
            self.fits = fits
        }

        /// What is shown of an object. Its times are not compared.
        func shown(_ fields: [String: JSON], _ objectId: String) -> JSON {
            var shown = fields.filter { keys.isEmpty || keys.contains($0.key) || $0.key == "ACL" }
            shown["objectId"] = .string(objectId)
            return .object(shown)
        }
    }

    /// What a subscriber was told.
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

    /// The way in which it ended.
    package enum End: Sendable, Equatable {
        /// It went on until everything was quiet, and a later event has come: nothing is missing.
        case quiet
        /// The client went, or was told to come back. What was told last before is anybody's guess.
        case cut
        /// It was ended with a code.
        case refused(Int64)
    }

    /// A subscription of one connection, or of several of which each went on at the cursor of the one before.
    package struct Listening: Sendable {
        package let name: String
        package var reader: Reader
        package let query: Query
        /// From `subscribe` to `subscribed`.
        package let began: Span
        /// The same of each later connection, with the number of events that had come before.
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

    /// What no order explains, in words; empty when one explains all.
    package var contradictions: [String] {
        var judgement = LiveJudgement(writes)
        for listening in listenings { judgement.judge(listening) }
        return judgement.found + [judgement.order.contradiction].compactMap(\.self)
    }
}
