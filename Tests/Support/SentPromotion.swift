import ParseProtocol

/// A promotion delivered to two devices, created for one scenario.
package struct SentPromotion: Sendable {
    package let id: String
    /// The hash with which an app reports that this promotion opened it.
    package let pushHash: String
    private let suite: Suite
    private let admin: ParseClient

    /// Sends it and waits until both devices have it.
    package static func send(_ suite: Suite, content: String) async throws -> SentPromotion {
        let admin = try await Customer.admin(suite)
        let devices = try await Devices.register(suite, tokens: (0..<2).map { _ in Names.random(20) })
        let promotion: JSON = ["content": .string(content), "audience": ["channels": [.string(devices.channel)]]]
        let made = try await admin.create("Promotion", promotion)
        guard made.status == 201 else { throw Unexpected("POST Promotion", made) }
        let id: JSON = ["promotionId": .string(made.objectId)]
        let sent = try await admin.run("sendPromotion", id)
        guard sent.status == 200 else { throw Unexpected("sendPromotion", sent) }
        var report = JSON.null
        try await eventually("the promotion is sent") {
            report = try await admin.run("promotionReport", id).result
            return report.at("pushes", 0, "status") == "succeeded"
        }
        let hash = report.at("pushes", 0, "pushHash")?.stringValue ?? ""
        return SentPromotion(id: made.objectId, pushHash: hash, suite: suite, admin: admin)
    }

    package func report() async throws -> JSON {
        try await admin.run("promotionReport", ["promotionId": .string(id)]).result
    }

    /// Sends it again, scheduled for a local time that is in the future on the devices, and cancels that: both
    /// deliveries fail.
    package func sendAndStop() async throws {
        let later = Timestamp.now.advanced(by: .seconds(10 * 3600)).iso.dropLast()
        let sent = try await admin.run(
            "sendPromotion", ["promotionId": .string(id), "pushTime": .string(String(later))])
        guard sent.status == 200 else { throw Unexpected("sendPromotion", sent) }
        let waiting = """
            SELECT count(*) FROM deliveries JOIN pushes ON pushes.id = deliveries.push WHERE promotion = '\(id)'
            """
        try await eventually("the devices wait for their time") {
            try await suite.rows("push", waiting).first?.at(0) == 2
        }
        let stopped = try await admin.run("cancelPromotion", ["promotionId": .string(id)])
        guard stopped.result == ["cancelled": 1] else { throw Unexpected("cancelPromotion", stopped) }
        try await eventually("it is stopped") { try await report()["failed"] == 2 }
    }
}

extension Customer {
    /// Opens the app by a tap on a push.
    package func open(by pushHash: String) async throws {
        let answer = try await client.call(.POST, "/events/AppOpened", ["push_hash": .string(pushHash)])
        guard answer.status == 200 else { throw Unexpected("POST events", answer) }
    }

    /// Buys two pieces.
    /// - Returns: the order's objectId.
    package func order(_ productId: String) async throws -> String {
        _ = try await client.run("addToBag", ["productId": .string(productId), "quantity": 2])
        let paid = try await client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(Names.random(12)), "shippingAddress": Customer.address])
        let id = paid.result.text("orderId")
        guard paid.status == 200, !id.isEmpty else { throw Unexpected("checkout", paid) }
        return id
    }
}
