import Foundation
import ObjectStore
import ParseProtocol

/// A push whose deliveries are being created.
package struct FanoutPush: Sendable {
    let id: String
    let condition: JSON
    let payload: PushPayload
    let moment: PushMoment
    let expiresAt: Timestamp?
    let lifetime: Duration?
    let cursor: String

    package init(_ row: SQLRow) throws {
        id = try row.text("id")
        condition = try JSON(parsing: row.blob("condition"))
        payload = try PushPayload(stored: row.blob("payload"))
        let dueAt = try Timestamp(milliseconds: row.int("dueAt"))
        moment = try row["wallClock"].intValue.map { .wallClock(Timestamp(milliseconds: $0)) } ?? .absolute(dueAt)
        expiresAt = try row["expiresAt"].intValue.map { Timestamp(milliseconds: $0) }
        lifetime = try row["lifetime"].intValue.map { .milliseconds($0) }
        cursor = try row.text("cursor")
    }
}

/// A bounded number of a push's installations, ordered by objectId.
package struct Slice: Sendable {
    package let installations: [JSON]
    /// The cursor of the next slice; nil after the last one.
    package let next: String?

    /// Rows in one transaction. With a badge each costs about 0.1 ms, so other writes wait at most 50 ms.
    package static let rowsMax = 500
    /// Installations scanned in one read when few of them match: keeps a read far below the store's time limit.
    package static let scannedMax = 20_000

    /// - Parameter isScanning: scans a bounded range of installations. Slower when an index covers the condition, but
    ///   the only method when none does and there are very many.
    package static func read(_ push: FanoutPush, isScanning: Bool, from reader: StoreReader) throws -> Slice {
        let after: JSON = ["objectId": ["$gt": .string(push.cursor)]]
        var condition = push.condition.adding(after)
        var bound: String?
        if isScanning {
            let end = try reader.documents(
                Query(
                    className: "_Installation", where: after, order: ["objectId"], limit: 1, skip: scannedMax - 1,
                    keys: ["objectId"]), caller: .master)
            bound = end.first?["objectId"]?.stringValue
            if let bound { condition = condition.adding(["objectId": ["$lte": .string(bound)]]) }
        }
        let found = try reader.documents(
            Query(
                className: "_Installation", where: condition, order: ["objectId"], limit: rowsMax,
                keys: ["deviceToken", "deviceType", "appIdentifier", "timeZone"]), caller: .master)
        let isFull = found.count == rowsMax
        return Slice(installations: found, next: isFull ? found.last?["objectId"]?.stringValue : bound)
    }

    /// Creates the deliveries and moves the cursor in one transaction, so that a crash neither repeats nor loses any.
    package func commit(_ push: FanoutPush, in transaction: StoreTransaction) throws {
        let changed = try transaction.execute(
            """
            UPDATE pushes SET cursor = ?, made = made + ?, state = ? WHERE id = ? AND state = 'spreading' AND cursor = ?
            """,
            [
                .text(next ?? push.cursor), .int(Int64(installations.count)),
                .text(next == nil ? "sending" : "spreading"), .text(push.id), .text(push.cursor),
            ])
        guard changed == 1 else { return }  // Cancelled meanwhile.
        for installation in installations { try Deliveries.add(push, to: installation, in: transaction) }
        if next == nil { try PushProgress.settle(push.id, in: transaction) }
    }
}

/// The table of waiting deliveries.
enum Deliveries {
    static func add(_ push: FanoutPush, to installation: JSON, in transaction: StoreTransaction) throws {
        guard let objectId = installation["objectId"]?.stringValue else { return }
        let (time, offset) = push.moment.time(inZone: installation["timeZone"]?.stringValue)
        let dueAt = max(time, transaction.now)
        var isLocal = false
        if case .wallClock = push.moment { isLocal = true }
        // For a push at local time, the lifetime starts at each device's own time.
        let expiresAt = isLocal ? push.lifetime.map { dueAt.advanced(by: $0) } ?? push.expiresAt : push.expiresAt
        let badge = try change(push.payload.badge, of: objectId, in: transaction)
        try insert(
            installation, push: push.id, badge: badge, offset: isLocal ? Int64(offset) : nil, dueAt: dueAt,
            expiresAt: expiresAt, in: transaction)
    }

    /// A notification for one user's devices.
    /// - Returns: the number of devices.
    static func add(
        _ payload: PushPayload, toUser userId: String, expiresAt: Timestamp, in transaction: StoreTransaction
    ) throws -> Int {
        let devices = try transaction.documents(
            Query(
                className: "_Installation",
                where: ["user": .pointer("_User", userId), "deviceToken": ["$exists": true]],
                order: ["-updatedAt"], limit: devicesMax), caller: .master)
        for device in devices {
            try insert(
                device, payload: payload, userId: userId, dueAt: transaction.now, expiresAt: expiresAt, in: transaction)
        }
        return devices.count
    }

    /// Maximum devices per user; a user with more registers them with a script.
    private static let devicesMax = 20

    private static func insert(
        _ installation: JSON, push: String = "", payload: PushPayload? = nil, userId: String? = nil,
        badge: Int64? = nil, offset: Int64? = nil, dueAt: Timestamp, expiresAt: Timestamp?,
        in transaction: StoreTransaction
    ) throws {
        guard let objectId = installation["objectId"]?.stringValue,
            let token = installation["deviceToken"]?.stringValue
        else { return }
        _ = try transaction.execute(
            """
            INSERT INTO deliveries(name, push, installation, deviceType, token, appIdentifier, userId, payload, \
            badge, utcOffset,
            madeAt, dueAt, expiresAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(UUID().uuidString.lowercased()), .text(push), .text(objectId),
                .text(deviceType(of: installation)), .text(token),
                installation["appIdentifier"]?.stringValue.map(SQLValue.text) ?? .null,
                userId.map(SQLValue.text) ?? .null, payload.map { .blob($0.data.serialized) } ?? .null,
                .optional(badge), .optional(offset), .int(dueAt.milliseconds), .int(dueAt.milliseconds),
                .optional(expiresAt?.milliseconds),
            ])
    }

    /// Clients choose the type; only known types get separate counts.
    private static func deviceType(of installation: JSON) -> String {
        installation["deviceType"]?.stringValue.flatMap { deviceTypes.contains($0) ? $0 : nil } ?? "other"
    }

    private static let deviceTypes: Set<String> = [
        "ios", "osx", "tvos", "watchos", "android", "web", "winrt", "winphone", "dotnet", "embedded", "fcm",
    ]

    /// The badge number for the device, stored in its installation in the same transaction.
    private static func change(
        _ badge: PushPayload.Badge?, of installation: String, in transaction: StoreTransaction
    ) throws -> Int64? {
        let value: JSON
        switch badge {
        case nil: return nil
        case .set(let number): value = .int(number)
        case .increment(let amount): value = ["__op": "Increment", "amount": .int(amount)]
        }
        do {
            let updated = try transaction.nested {
                try transaction.update("_Installation", installation, ["badge": value], caller: .master)
            }
            return updated.document["badge"]?.intValue
        } catch is ParseError {
            // The installation was deleted since the slice was read, or its client filled it to the size limit: one
            // device must not block the others.
            if case .set(let number) = badge { return number }
            return nil
        }
    }
}
