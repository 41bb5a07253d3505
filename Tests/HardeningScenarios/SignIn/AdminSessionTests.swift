import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Restricted sessions of admins, for devices without their full rights. Id T10f of docs/internals/hardening.md.
@Suite struct AdminSessionTests {
    /// T10f
    @Test func aRestrictedSessionOfAnAdminIsNobodysAdmin() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let made = try await admin.call(.POST, "/sessions", ["device": "till"])
        #expect(made.status == 201, "\(made.text)")
        #expect(made["restricted"] == true, "\(made.text)")
        var till = admin
        till.sessionToken = made["sessionToken"]?.stringValue
        let hidden = try await admin.create("Ledger\(Names.random(6))", ["a": 1])
        let secret = try await admin.create(
            "Secret", ["a": 1, "ACL": ["role:admins": ["read": true, "write": true]]])
        #expect(hidden.status == 201)
        #expect(secret.status == 201)
        let requests: [(HTTPMethod, String, JSON?)] = [
            (.GET, "/export/Product", nil), (.GET, "/export/Product?format=csv", nil),
            (.POST, "/import/Imported", ["results": [["a": 1]]]),
            (.POST, "/functions/mails", [:]), (.POST, "/functions/crashIssues", [:]),
            (.POST, "/functions/analyticsEvents", ["event": "AppOpened"]), (.POST, "/functions/charges", [:]),
            (.POST, "/functions/reviewsToModerate", [:]), (.POST, "/functions/promotionReport", ["promotionId": "x"]),
            (.POST, "/classes/Product", ["name": "x", "unitPrice": 1, "stock": 1]),
        ]
        for (method, path, body) in requests {
            let refused = try await till.call(method, path, body)
            #expect(refused.code == 119, "\(path): \(refused.status) \(refused.text.prefix(200))")
        }
        #expect(try await till.get("/classes/Secret/\(secret.objectId)").code == 101)
        // An unrestricted session of the same admin may do this.
        #expect(try await admin.get("/export/Product").status == 200)
        #expect(try await admin.get("/classes/Secret/\(secret.objectId)").status == 200)
        #expect(try await admin.run("mails").status == 200)
    }
}
