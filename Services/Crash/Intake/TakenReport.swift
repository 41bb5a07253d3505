import ObjectStore
import ParseProtocol
import ServiceKit

/// An accepted report: the data to count, in this process or on the leading replica.
struct TakenReport: Sendable {
    let projectId: Int64
    let event: StoredEvent?
    let sessions: [AppSession]

    private static let kind = "report"

    /// Adds the report to the counts.
    func count(_ zone: ShopZone, in transaction: StoreTransaction) throws {
        for session in sessions { try SessionLog.add(session, projectId: projectId, in: transaction) }
        if let event { try IssueLog.add(event, projectId: projectId, zone: zone, in: transaction) }
    }

    init(projectId: Int64, event: StoredEvent?, sessions: [AppSession]) {
        self.projectId = projectId
        self.event = event
        self.sessions = sessions
    }

    /// - Throws: `ParseError` for input that `json` did not write.
    init(_ item: Inbox.Item) throws {
        let json = try JSON(parsing: item.body)
        projectId = json["projectId"]?.intValue ?? Projects.defaultId
        sessions = try (json["sessions"]?.arrayValue ?? []).map(AppSession.init(json:))
        // Scrubbing is idempotent.
        event = json["event"].flatMap { event in
            json["eventId"]?.stringValue.map { StoredEvent(event, eventId: $0) }
        }
    }

    fileprivate func json() throws -> JSON {
        var members: [String: JSON] = ["projectId": .int(projectId), "sessions": .array(sessions.map(\.json))]
        if let event {
            members["event"] = try JSON(parsing: event.json)
            members["eventId"] = .string(event.eventId)
        }
        return .object(members)
    }

    fileprivate func item(at moment: Timestamp) throws -> Inbox.Item {
        Inbox.Item(Self.kind, try json().serialized, by: Caller(userId: event?.userId), at: moment)
    }
}

extension Inbox {
    func add(_ report: TakenReport, _ zone: ShopZone, in transaction: StoreTransaction) throws {
        guard waits else { return try report.count(zone, in: transaction) }
        try add(report.item(at: transaction.now), in: transaction)
    }
}
