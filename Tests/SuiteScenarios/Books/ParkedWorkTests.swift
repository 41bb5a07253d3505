import Foundation
import ParseProtocol
import TestSupport
import Testing

/// What a receiver refuses for good waits for an operator, delays nothing else, and is done again or dropped over HTTP.
@Suite struct ParkedWorkTests {
    /// Signs up with an address and buys. Returns the order's id.
    private static func buy(_ suite: Suite, _ shelf: Shelf, as email: String) async throws -> String {
        var client = ParseClient(suite)
        let account: JSON = ["username": .string(email), "email": .string(email), "password": "secret-word"]
        let signUp = try await Customer.whenNotBusy { [client] in try await client.call(.POST, "/users", account) }
        guard let token = signUp["sessionToken"]?.stringValue else { throw Unexpected("POST users", signUp) }
        client.sessionToken = token
        _ = try await client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        let paid = try await client.run("checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        guard paid.status == 200 else { throw Unexpected("checkout", paid) }
        return paid.result.text("orderId")
    }

    private static func parked(_ admin: ParseClient) async throws -> [String: JSON] {
        let answer = try await admin.get("/operations/parked")
        guard answer.status == 200 else { throw Unexpected("GET parked", answer) }
        let items = answer.json["results"]?.arrayValue ?? []
        return Dictionary(items.map { ($0.text("kind"), $0) }) { first, _ in first }
    }

    private static func change(_ verb: String, _ item: JSON, _ client: ParseClient) async throws -> ParseClient.Answer {
        let body: JSON = [
            "service": item["service"] ?? .null, "kind": item["kind"] ?? .null, "id": item["id"] ?? .null,
        ]
        return try await client.call(.POST, "/operations/parked/\(verb)", body)
    }

    private static func noted(_ action: String, _ admin: ParseClient) async throws -> [JSON] {
        let entries = try await admin.run("auditEntries", ["limit": 200]).result["entries"]?.arrayValue ?? []
        return entries.filter { $0["action"] == .string(action) }
    }

    /// The number of parked items of a kind in the metrics of a service.
    private static func counted(_ service: String, _ kind: String, _ admin: ParseClient) async throws -> JSON? {
        let processes = try await admin.get("/operations/metrics").json["processes"]?.arrayValue ?? []
        return processes.first { $0["service"] == .string(service) }?.at("parked", .member(kind))
    }

    @Test(.enabled(if: Suite.keepsFiles, "The test writes a row with a blob."))
    func whatIsRefusedForGoodWaitsAndDelaysNothing() async throws {
        try await MailSuite.with { suite, peer in
            let shelf = try await Shelf.fill(suite, names: ["Soap"])
            let admin = try await Customer.admin(suite)
            let word = Names.random(5).lowercased()
            let order = try await Self.buy(suite, shelf, as: "rcpt-550-5.1.1+\(word)@customers.example")
            // Somebody refunds the charge at the provider, so the provider refuses the shop's own refund.
            try await suite.tamper(
                "payments",
                """
                INSERT INTO sandboxRefunds(key, refundId, chargeId, amount, createdAt)
                SELECT 'elsewhere', 're_elsewhere', chargeId, amount, 0 FROM charges WHERE orderId = '\(order)'
                """)
            let part: JSON = ["orderId": .string(order), "amount": 100, "reason": "Broken lid"]
            #expect(try await admin.run("refundOrder", part).code == 142)
            // A message that mail does not know, after the refusals of a quarter of an hour.
            try await suite.tamper(
                "bag",
                """
                INSERT INTO outbox(key, kind, body, refusals, dueAt)
                VALUES ('outbox:poison', 'mail.never.v1', x'', 19, 0)
                """)
            try await eventually("each kind is parked", within: .seconds(60)) {
                Set(try await Self.parked(admin).keys) == ["mail", "refund", "message"]
            }
            let items = try await Self.parked(admin)
            let (mail, refund, message) = (
                try #require(items["mail"]), try #require(items["refund"]), try #require(items["message"])
            )
            #expect(mail["service"] == "mail")
            #expect(mail["about"] == "order-confirmation to r…@customers.example")
            #expect(mail.text("reason").contains("550 5.1.1"))
            #expect(mail["attempts"] == 1)
            #expect(refund["service"] == "bag")
            #expect(refund["orderId"] == .string(order))
            #expect(refund["amount"] == 100)
            #expect(message["about"] == "mail.never.v1 poison")
            for (service, kind) in [("mail", "mail"), ("bag", "refund"), ("bag", "message")] {
                #expect(try await Self.counted(service, kind, admin) == 1, "\(service) \(kind)")
            }

            // Others go on: a mail, a message and a refund after them.
            let happy = "happy+\(word)@customers.example"
            let other = try await Self.buy(suite, shelf, as: happy)
            try await eventually("the next mail arrives") {
                peer.reports().contains { $0["event"] == "mail" && $0["envelopeTo"] == [.string(happy)] }
            }
            let given = try await admin.run("refundOrder", ["orderId": .string(other), "amount": 100])
            #expect(given.result["refundedNow"] == 100, "\(given.text)")

            // The refund is made again, and succeeds now.
            try await suite.tamper("payments", "DELETE FROM sandboxRefunds WHERE key = 'elsewhere'")
            let again = try await Self.change("retry", refund, admin)
            #expect(again.status == 200, "\(again.text)")
            try await eventually("the order is refunded") {
                let stored = try await ParseClient.master(suite).get("/classes/Order/\(order)")
                return stored["refundedTotal"] == 100 && stored["refundState"] == "done"
            }
            // The message is refused again; then it is dropped, and so is the mail.
            #expect(try await Self.change("retry", message, admin).status == 200)
            try await eventually("the message is back", within: .seconds(60)) {
                let back = try await Self.parked(admin)["message"]
                return back != nil && back?["since"] != message["since"]
            }
            let back = try #require(try await Self.parked(admin)["message"])
            for item in [back, mail] {
                #expect(try await Self.change("drop", item, admin).status == 200)
                #expect(try await Self.change("drop", item, admin).code == 101)
                #expect(try await Self.change("retry", item, admin).code == 101)
            }
            // The mail about the refund is parked too: its address gets no mail.
            let left = try await Self.parked(admin)
            #expect(left["message"] == nil && left["refund"] == nil && left["mail"]?["id"] != mail["id"])
            #expect(try await Self.counted("bag", "message", admin) == 0)
            try await eventually("bag is well again", within: .seconds(60)) {
                try await admin.get("/health").json.at("services", "bag", "status") == "ok"
            }
            try await eventually("the audit log has each change") {
                let (retried, dropped) = (
                    try await Self.noted("retryParked", admin), try await Self.noted("dropParked", admin)
                )
                return retried.count == 2 && dropped.count == 2
            }
            let entry = try #require(
                try await Self.noted("dropParked", admin).first { $0.at("before", "kind") == "mail" })
            #expect(entry.at("before", "about") == mail["about"])
        }
    }

    @Test func onlyOperatorsMayAskAndOnlyForWhatThereIs() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite).client
        let admin = try await Customer.admin(suite)
        for client in [ParseClient(suite), customer] {
            #expect(try await client.get("/operations/parked").code == 119)
            for verb in ["retry", "drop"] {
                let item: JSON = ["service": "mail", "kind": "mail", "id": "1"]
                #expect(try await Self.change(verb, item, client).code == 119)
            }
        }
        try await eventually("every service answers") {
            try await admin.get("/operations/parked").json["unanswered"] == []
        }
        for verb in ["retry", "drop"] {
            for wrong: JSON in [
                [:], ["service": "web", "kind": "mail", "id": "1"], ["service": "mail", "kind": "refund", "id": "1"],
                ["service": "mail", "kind": "mail"], ["service": "mail", "kind": "mail", "id": 1],
                ["service": ["mail"], "kind": "mail", "id": "1"],
            ] {
                let answer = try await Self.change(verb, wrong, admin)
                #expect(answer.code == 142, "\(wrong.serializedText): \(answer.text)")
            }
            for service in ["mail", "bag", "payments", "push"] {
                let kind = ["mail": "mail", "push": "push"][service] ?? "refund"
                for id in ["0", "-1", "never", ":"] {
                    let item: JSON = ["service": .string(service), "kind": .string(kind), "id": .string(id)]
                    #expect(try await Self.change(verb, item, admin).code == 101, "\(item.serializedText)")
                }
            }
        }
    }
}
