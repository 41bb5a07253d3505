import ParseProtocol
import TestSupport
import Testing

/// Advisories about features that Satchel lacks: a request for the feature gets a clear error.
@Suite struct AbsentFeatureAdvisoryTests {
    @Test("2020-15126: there is no GraphQL, and so no viewer query that passes by permissions")
    func advisory2020_15126_thereIsNoViewerQuery() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let query: JSON = ["query": "query { viewer { sessionToken user { objectId email } } }"]
        for path in ["/graphql", "/graphql/", "/GraphQL", "/graphql/viewer", "/playground", "/graphql-config"] {
            for way in Way.allCases {
                let outcome = try await customer.client.go(way, .POST, path, query)
                #expect(!outcome.isSuccess, "\(way) \(path): \(outcome.text)")
                #expect(way == .batched || outcome.status == 404, "\(way) \(path): \(outcome.text)")
                #expect(!outcome.text.contains(customer.email))
                #expect(!outcome.text.contains("sessionToken"))
            }
        }
        var root = customer.client
        root.url = suite.url.replacingOccurrences(of: "/parse", with: "")
        #expect(try await root.call(.POST, "/graphql", query).status == 404)
        // The data that the query would have shown is available through a route with permissions.
        #expect(try await customer.client.get("/users/me").json.text("email") == customer.email)
    }

    @Test("2026-31828: there is no sign-in by LDAP, so that no name becomes part of a directory's query")
    func advisory2026_31828_thereIsNoDirectory() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        for id in ["ann", "*", "*)(uid=*", "ann,dc=example", "a\\2a", ""] {
            let ldap: JSON = ["authData": ["ldap": ["id": .string(id), "password": "secret"]]]
            for way in Way.allCases {
                for path in ["/users", "/classes/_User"] {
                    let outcome = try await ParseClient(suite).go(way, .POST, path, ldap)
                    #expect(!outcome.isSuccess, "\(way) \(path) \(id): \(outcome.text)")
                    #expect(outcome.code == 252, "\(way) \(path) \(id): \(outcome.text)")
                }
                let linked = try await customer.client.go(way, .PUT, "/users/\(customer.userId)", ldap)
                #expect(!linked.isSuccess, "\(way) \(id): \(linked.text)")
                #expect(linked.code == 252, "\(way) \(id): \(linked.text)")
            }
        }
        // The same requests succeed with an existing provider.
        let anonymous: JSON = ["authData": ["anonymous": ["id": .string("id\(Names.random(20))")]]]
        #expect(try await ParseClient(suite).call(.POST, "/users", anonymous).status == 201)
    }
}
