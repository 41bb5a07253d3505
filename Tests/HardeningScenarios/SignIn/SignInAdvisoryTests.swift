import ParseProtocol
import TestSupport
import Testing

/// Parse Server's advisories about sign-in and its lock, over HTTP. Each test has its own suite: wrong passwords count
/// against the address, which all tests share.
@Suite(.serialized) struct SignInAdvisoryTests {
    private static func pair(_ customer: Customer, password: String? = nil) -> JSON {
        ["username": .string(customer.email), "password": .string(password ?? customer.password)]
    }

    private static let internalFields = [
        "_hashed_password", "_failed_login_count", "_account_lockout_expires_at", "_perishable_token",
        "_perishable_token_expires_at", "_email_verify_token", "_email_verify_token_expires_at", "_password_changed_at",
        "_password_history", "_session_token", "_auth_data_facebook", "_rperm", "_wperm", "_id", "_acl",
    ]

    /// 2026-116164
    @Test func advisory2026_116164_internalNamesAreNoFieldsAndTheLockHolds() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            for _ in 0..<5 {
                _ = try await ParseClient(suite).call(.POST, "/login", Self.pair(customer, password: "wrong!"))
            }
            for field in Self.internalFields {
                for value in [.null, 0, ["__op": "Delete"]] as [JSON] {
                    for client in [customer.client, ParseClient.master(suite)] {
                        let changed = try await client.call(.PUT, "/users/\(customer.userId)", .object([field: value]))
                        #expect(changed.code == 105, "\(field) \(value.serializedText): \(changed.text)")
                    }
                }
                let made = try await ParseClient(suite).call(
                    .POST, "/users", ["username": .string(Names.random(9)), "password": "secret1", field: 1])
                #expect(made.code == 105, "\(field): \(made.text)")
            }
            #expect(try await customer.client.get("/users/\(customer.userId)").status == 200)
            #expect(try await ParseClient(suite).call(.POST, "/login", Self.pair(customer)).text.contains("locked"))
        }
    }

    /// 2026-39321: every answer takes the time of a hash, whether or not the user exists. Compares medians of
    /// alternating requests, with a wide margin: without a hash the answer would take a fraction of the time.
    @Test func advisory2026_39321_anUnknownNameTakesAsLongAsAWrongPassword() async throws {
        try await Suite.with { suite in
            var customers: [Customer] = []
            for _ in 0..<3 { customers.append(try await Customer.signUp(suite)) }
            func time(_ name: String) async throws -> Double {
                let start = ContinuousClock.now
                let answer = try await ParseClient(suite).call(
                    .POST, "/login", ["username": .string(name), "password": "wrong!"])
                #expect(answer.code == 101, "\(answer.text)")
                #expect(answer["error"] == "Invalid username/password.", "\(answer.text)")
                return (ContinuousClock.now - start) / .milliseconds(1)
            }
            var (known, unknown): ([Double], [Double]) = ([], [])
            for _ in 0..<3 {
                for customer in customers {
                    known.append(try await time(customer.email))
                    unknown.append(try await time("nobody\(Names.random(8))"))
                }
            }
            let medians = (known.sorted()[4], unknown.sorted()[4])
            #expect(medians.1 > medians.0 * 0.4, "Milliseconds of a known and an unknown name: \(medians)")
        }
    }

    /// #10266
    @Test func advisory10266_wrongPasswordsAtOnceAreAllCounted() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            let wrong = Self.pair(customer, password: "wrong!")
            let counted = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<15 {
                    group.addTask {
                        try await ParseClient(suite).call(.POST, "/login", wrong)["error"]
                            == "Invalid username/password."
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(counted >= 5)
            let rows = try await suite.rows(
                "users", "SELECT failures FROM signInFailures WHERE subject = 'account:\(customer.userId)'")
            #expect(rows == [[.int(Int64(counted))]])
            #expect(try await ParseClient(suite).call(.POST, "/login", Self.pair(customer)).text.contains("locked"))
        }
    }

    /// #10214
    @Test func advisory10214_signInsInABatchCountLikeOthers() async throws {
        try await Suite.with { suite in
            let customer = try await Customer.signUp(suite)
            let requests = (0..<6).map { number -> JSON in
                [
                    "method": "POST", "path": .string(number % 2 == 0 ? "/parse/login" : "/1/login"),
                    "body": Self.pair(customer, password: number == 5 ? nil : "wrong!"),
                ]
            }
            let batch = try await ParseClient(suite).call(.POST, "/batch", ["requests": .array(requests)])
            #expect(batch.status == 200, "\(batch.text)")
            #expect(!batch.text.contains("sessionToken"), "\(batch.text)")
            #expect(batch.json.at(5, "error", "error")?.stringValue?.contains("locked") == true, "\(batch.text)")
            #expect(try await ParseClient(suite).call(.POST, "/login", Self.pair(customer)).text.contains("locked"))
        }
    }
}
