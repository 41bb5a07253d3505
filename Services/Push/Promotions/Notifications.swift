import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The pushes by which customers hear of their orders. A row for each piece of news, so that none is told twice.
package enum Notifications {
    /// News of an order that nobody saw for this long is in the order's history.
    private static let lifetime = Duration.seconds(3 * 86_400)

    /// The customer's devices hear that the order was made.
    package static func add(_ order: OrderMade, in transaction: StoreTransaction) throws {
        try add(
            reason: "orderMade", orderId: order.orderID, userId: order.userID, madeAt: order.madeAt,
            text: OrderTexts.made(order.orderNumber), in: transaction)
    }

    /// The customer's devices hear what became of the order. A status that needs no words is passed over.
    package static func add(_ order: OrderChanged, in transaction: StoreTransaction) throws {
        if OrderStatus(event: order.status)?.isGivenUp != true, order.refundedMinorUnits > 0 {
            // A part of the money goes back and the order goes on, which can happen more than once.
            return try add(
                reason: "orderRefunded:\(order.changedAt)", orderId: order.orderID, userId: order.userID,
                madeAt: order.changedAt, text: OrderTexts.partlyRefunded(order.orderNumber), in: transaction)
        }
        guard let text = OrderTexts.changed(order.orderNumber, status: order.status) else { return }
        try add(
            reason: "orderChanged:\(order.status):\(order.changedAt)", orderId: order.orderID, userId: order.userID,
            madeAt: order.changedAt, text: text, in: transaction)
    }

    private static func add(
        reason: String, orderId: String, userId: String, madeAt: Int64, text: String, in transaction: StoreTransaction
    ) throws {
        let isNew = try transaction.execute(
            """
            INSERT INTO notifications(userId, reason, subject, madeAt, state) VALUES (?, ?, ?, ?, 'told')
            ON CONFLICT(reason, subject) DO NOTHING
            """,
            [.text(userId), .text(reason), .text(orderId), .int(madeAt)])
        guard isNew == 1, !userId.isEmpty else { return }
        let devices = try Deliveries.add(
            try PushPayload(["alert": .string(text), "orderId": .string(orderId)]), toUser: userId,
            expiresAt: transaction.now.advanced(by: lifetime), in: transaction)
        try transaction.execute(
            "UPDATE notifications SET devices = ? WHERE reason = ? AND subject = ?",
            [.int(Int64(devices)), .text(reason), .text(orderId)])
    }

    /// The news of an order that devices were sent, the oldest first: `[{news, madeAt, devices}]`. `devices` is how
    /// many there were then, and absent where that is not known; whether each showed it nobody knows.
    package static func list(ofOrder orderId: String, in reader: some ObjectReading) throws -> [JSON] {
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

    /// An order has a handful.
    private static let listMax: Int64 = 200

    /// What a reason says in the words of `orderState`.
    private static func news(_ reason: String) -> String {
        let parts = reason.split(separator: ":")
        switch parts.first {
        case "orderMade": return "made"
        case "orderRefunded": return "partlyRefunded"
        default: return parts.dropFirst().first.flatMap { Int32($0) }.flatMap(OrderStatus.init(event:))?.state ?? reason
        }
    }

    /// The account is gone: its devices are nobody's, and what was meant for it is not sent.
    package static func forget(_ userId: String, in transaction: StoreTransaction) throws {
        _ = try transaction.execute("DELETE FROM deliveries WHERE userId = ?", [.text(userId)])
        _ = try transaction.execute("DELETE FROM notifications WHERE userId = ?", [.text(userId)])
        try transaction.forEach("_Installation", of: userId, "user") { id, _ in
            _ = try transaction.update("_Installation", id, ["user": ["__op": "Delete"]], caller: .master)
        }
    }
}

/// The texts that customers read, in one place.
package enum OrderTexts {
    package static func made(_ number: Int64) -> String { "Thank you! We have your order \(number)." }

    package static func partlyRefunded(_ number: Int64) -> String { "A part of order \(number) has been refunded." }

    /// Nil for a status that is nobody's news.
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
