import ObjectStore
import ParseProtocol

/// The operations that are under way at Stripe, by our operation id. Each is written before the step that it makes
/// repeatable.
package struct StripeOperations: Sendable {
    struct Operation: Sendable {
        let key: String
        /// Nil for the older API.
        let intentId: String?
        /// The failure for which the intent is being cancelled; nil when it is not.
        let failure: ProviderFailure?
        let isAbandoned: Bool
        /// The time at which Stripe was last asked to take money.
        let askedAt: Timestamp
    }

    let store: ClassStore

    func find(_ key: String) async throws -> Operation? {
        try await store.read { try Self.row(key, in: $0) }
    }

    /// Keeps the intent of an operation; the first one stands. The result says which, and whether it was given up
    /// meanwhile.
    func keep(_ key: String, intentId: String) async throws -> Operation {
        try await store.write {
            _ = try $0.execute(
                "INSERT INTO stripeOperations(key, intentId, askedAt) VALUES (?, ?, ?) ON CONFLICT(key) DO NOTHING",
                [.text(key), .text(intentId), .int($0.now.milliseconds)])
            return try Self.kept(key, in: $0)
        }
    }

    /// Notes that Stripe is about to be asked to take money, unless the operation was given up.
    func begin(_ key: String) async throws -> Operation {
        try await store.write {
            _ = try $0.execute(
                """
                INSERT INTO stripeOperations(key, askedAt) VALUES (?, ?)
                ON CONFLICT(key) DO UPDATE SET askedAt = excluded.askedAt WHERE stripeOperations.isAbandoned = 0
                """, [.text(key), .int($0.now.milliseconds)])
            return try Self.kept(key, in: $0)
        }
    }

    /// Gives an operation up of which no request was made since `operation` was read; nil: that never began.
    /// - Returns: false when one was made.
    func abandon(_ key: String, asOf operation: Operation?) async throws -> Bool {
        try await store.write {
            guard let operation else {
                _ = try $0.execute(
                    """
                    INSERT INTO stripeOperations(key, isAbandoned, askedAt) VALUES (?, 1, ?) ON CONFLICT(key) DO NOTHING
                    """,
                    [.text(key), .int($0.now.milliseconds)])
                return try Self.kept(key, in: $0).isAbandoned
            }
            return try $0.execute(
                "UPDATE stripeOperations SET isAbandoned = 1 WHERE key = ? AND askedAt = ?",
                [.text(key), .int(operation.askedAt.milliseconds)]) == 1
        }
    }

    /// Keeps why an intent is about to be cancelled, so that the reason outlives a lost answer.
    func note(_ key: String, _ failure: ProviderFailure) async throws {
        try await store.write {
            _ = try $0.execute(
                "UPDATE stripeOperations SET failure = ? WHERE key = ?", [.text(failure.stored), .text(key)])
        }
    }

    private static func kept(_ key: String, in store: some ObjectReading) throws -> Operation {
        guard let operation = try row(key, in: store) else { throw ParseError.internalError }
        return operation
    }

    static func row(_ key: String, in store: some ObjectReading) throws -> Operation? {
        try store.rows("SELECT * FROM stripeOperations WHERE key = ?", [.text(key)]).first.map { row in
            try Operation(
                key: key, intentId: row["intentId"].textValue,
                failure: try row["failure"].textValue.map { try ProviderFailure(stored: $0) },
                isAbandoned: row.int("isAbandoned") == 1, askedAt: Timestamp(milliseconds: row.int("askedAt")))
        }
    }
}
