import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Push notifications about orders. One row per event, so that none is sent twice.
package enum Notifications {
    /// After this time an unseen notification expires; the order's history shows the event.
    private static let lifetime = Duration.seconds(3 * 86_400)

    /// Notifies the customer's devices of a new order.
    /// - Returns: the number of devices.
    @discardableResult
    package static func add(_ order: OrderMade, in transaction: StoreTransaction) throws -> Int {
        try add(
            reason: "orderMade", orderId: order.orderID, userId: order.userID, madeAt: order.madeAt,
            text: OrderTexts.made(order.orderNumber), in: transaction)
    }

    /// Notifies the customer's devices of an order's new status. Statuses without a text are skipped.
    /// - Returns: the number of devices.
    @discardableResult
    package static func add(_ order: OrderChanged, in transaction: StoreTransaction) throws -> Int {
        if order.partlyRefunded {
            // A partial refund does not end the order, and can happen more than once.
            return try add(
                reason: "orderRefunded:\(order.changedAt)", orderId: order.orderID, userId: order.userID,
                madeAt: order.changedAt, text: OrderTexts.partlyRefunded(order.orderNumber), in: transaction)
        }
        guard let text = OrderTexts.changed(order.orderNumber, status: order.status) else { return 0 }
        return try add(
            reason: "orderChanged:\(order.status):\(order.changedAt)", orderId: order.orderID, userId: order.userID,
            madeAt: order.changedAt, text: text, in: transaction)
    }

    private static func add(
        reason: String, orderId: String, userId: String, madeAt: Int64, text: String, in transaction: StoreTransaction
    ) throws -> Int {
        let isNew = try transaction.execute(
            """
            INSERT INTO notifications(userId, reason, subject, madeAt, state, devices) VALUES ('', ?, ?, ?, 'told', ?)
            ON CONFLICT(reason, subject) DO NOTHING
            """,
            [.text(reason), .text(orderId), .int(madeAt), userId.isEmpty ? .null : .int(0)])
        guard isNew == 1, !userId.isEmpty else { return 0 }
        let devices = try Deliveries.add(
            try PushPayload(["alert": .string(text), "orderId": .string(orderId)]), toUser: userId,
            expiresAt: transaction.now.advanced(by: lifetime), in: transaction)
        // Without a device the row does not name the user: news may arrive after the account's deletion (`forget`).
        if devices > 0 {
            try transaction.execute(
                "UPDATE notifications SET userId = ?, devices = ? WHERE reason = ? AND subject = ?",
                [.text(userId), .int(Int64(devices)), .text(reason), .text(orderId)])
        }
        return devices
    }

    /// The notifications sent about an order, oldest first: `[{news, madeAt, devices}]`. `devices` is the number of
    /// devices at the time; absent where unknown. Whether each device showed the notification is unknown.
    package static func list(ofOrder orderId: String, in reader: ObjectReader) throws -> [JSON] {
        try reader.rows(
            "SELECT reason, madeAt, devices FROM notifications WHERE subject = ? ORDER BY id LIMIT ?",
            [.text(orderId), .int(listMax)]
        ).map { row in
            var told: JSON = try [
                "news": .string(news(row.text("reason"))), "madeAt": Timestamp(milliseconds: row.int("madeAt")).wire,
            ]
            if let devices = try row["devices"].intValue { told["devices"] = .int(devices) }
            return told
        }
    }

    /// An order has only a few.
    private static let listMax: Int64 = 200

    /// The `orderState` value of a reason.
    private static func news(_ reason: String) -> String {
        let parts = reason.split(separator: ":")
        switch parts.first {
        case "orderMade": return "made"
        case "orderRefunded": return "partlyRefunded"
        default: return parts.dropFirst().first.flatMap { Int32($0) }.flatMap(OrderStatus.init(event:))?.state ?? reason
        }
    }

    /// The account was deleted: its devices lose their user, or are deleted where they cannot be without one, and its
    /// waiting notifications are not sent.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM deliveries WHERE userId = ?", [.text(userId)])
        try ParkedDeliveries.forget(userId, in: transaction)
        _ = try transaction.execute("DELETE FROM notifications WHERE userId = ?", [.text(userId)])
        try transaction.forEach("_Installation", of: userId, "user") { id, _ in
            do {
                _ = try transaction.nested {
                    try transaction.update("_Installation", id, ["user": ["__op": "Delete"]], caller: .master)
                }
            } catch let error as ParseError where !error.code.isTemporary {
                // The class's schema requires a user. The app registers the device again for its next user.
                try transaction.delete("_Installation", id, caller: .master)
            }
        }
    }
}

/// The texts for customers, in one place.
package enum OrderTexts {
    package static func made(_ number: Int64) -> String { "Thank you! We have your order \(number)." }

    package static func partlyRefunded(_ number: Int64) -> String { "A part of order \(number) has been refunded." }

    /// Nil for a status without a notification.
    package static func changed(_ number: Int64, status: Int32) -> String? {
        switch OrderStatus(event: status) {
        case .shipped: "Order \(number) is on its way."
        case .delivered: "Order \(number) has been delivered."
        case .cancelled: "Order \(number) has been cancelled."
        case .refunded: "Order \(number) has been refunded."
        case .open, .made, nil: nil
        }
    }
}
