import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The notes on the object changes of one message, which become one row of the outbox.
///
/// What the master key writes in bulk, and every import, is one entry for up to 200 objects: it says how many and
/// which, and not what was in each, so that loading a shop costs next to nothing more.
struct AuditedWrite: Sendable {
    /// The classes by which operators run the shop. What customers own has its own history, or none.
    static let classes: Set<String> = [
        "Category", "Product", "ProductReview", "Store", "Page", "Promotion", "_Product", "_Role", "_JobSchedule",
        "_Audience",
    ]
    /// Changes of the master key in one message that have an entry each.
    private static let singleMax = 10
    /// Ids that the entry of a group names.
    private static let idsMax = 100

    private let origin: AuditOrigin
    private let trail: AuditTrail
    private let isGroup: Bool
    private let groupAction: String
    private var notes: [AuditNote] = []
    private var groups: [String: Group] = [:]

    private struct Group {
        var counts: [String: Int64] = [:]
        var ids: [JSON] = []
    }

    /// Nil when nothing of the message belongs into the log.
    init?(_ message: WriteRequest, _ request: ServiceRequest, _ trail: AuditTrail) {
        guard let origin = AuditOrigin(request),
            message.changes.contains(where: { Self.classes.contains($0.className) })
        else { return nil }
        self.origin = origin
        self.trail = trail
        let imports = message.changes.contains(where: \.imports)
        groupAction = imports ? "import" : "batch"
        isGroup = imports || origin.isMasterKey && message.changes.count > Self.singleMax
    }

    mutating func add(_ change: ProposedChange, _ outcome: ChangeOutcome, in transaction: StoreTransaction) {
        guard Self.classes.contains(change.className) else { return }
        let action =
            switch change.verb {
            case .create: "create"
            case .update: "update"
            case .delete: "delete"
            }
        // Who has which rights is told one by one.
        guard !isGroup || change.className == "_Role" else {
            var group = groups[change.className] ?? Group()
            group.counts[action, default: 0] += 1
            if group.ids.count < Self.idsMax { group.ids.append(.string(outcome.objectId)) }
            groups[change.className] = group
            return
        }
        var after = outcome.after
        let hidden = transaction.protectedFields(of: change.className)
        // An object shows no members of a relation: what was added and removed is what the client said.
        for (name, value) in change.object.objectValue ?? [:] {
            for (label, told) in RelationNote.members(of: name, value, isHidden: hidden.contains(name)) {
                after?[label] = told
            }
        }
        notes.append(
            AuditNote(
                action, change.className, outcome.objectId, before: outcome.before, after: after, hiding: hidden))
    }

    /// Stores the notes with the changes.
    func store(in transaction: StoreTransaction) throws {
        let groupNotes = groups.sorted { $0.key < $1.key }.map { className, group in
            var after = JSON.object(group.counts.mapValues(JSON.int))
            after["objectIds"] = .string(group.ids.compactMap(\.stringValue).joined(separator: " "))
            return AuditNote(groupAction, className, after: after)
        }
        try trail.add(notes + groupNotes, by: origin, in: transaction)
    }
}
