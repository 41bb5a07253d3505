import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The notes about the object changes of one message, stored as one outbox row.
///
/// Bulk writes with the master key, and every import, make one entry for up to 200 objects. It has the counts and ids
/// but not the contents, so that the audit log adds almost no cost to loading a shop.
struct AuditedWrite: Sendable {
    /// The classes that operators use to run the shop. Objects owned by customers are not audited here.
    static let classes: Set<String> = [
        "Category", "Product", "ProductReview", "Store", "Page", "Promotion", "_Product", "_Role", "_JobSchedule",
        "_Audience",
    ]
    /// Largest number of master-key changes in one message that get an entry each.
    private static let singleMax = 10
    /// Largest number of ids in the entry of a group.
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

    /// Nil when the message has no change to audit.
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
        // Role changes are logged one by one, because they grant rights.
        guard !isGroup || change.className == "_Role" else {
            var group = groups[change.className] ?? Group()
            group.counts[action, default: 0] += 1
            if group.ids.count < Self.idsMax { group.ids.append(.string(outcome.objectId)) }
            groups[change.className] = group
            return
        }
        var after = outcome.after
        let hidden = transaction.protectedFields(of: change.className)
        // A stored object has no members for its relations, so the note takes the client's operation instead.
        for (name, value) in change.object.objectValue ?? [:] {
            for (label, member) in RelationNote.members(of: name, value, isHidden: hidden.contains(name)) {
                after?[label] = member
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
