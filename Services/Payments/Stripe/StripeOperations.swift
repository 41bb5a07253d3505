import ObjectStore
import ParseProtocol

/// The charges requested from Stripe, by Satchel's operation id. Each row is stored before the request that it makes
/// safe to repeat, and is kept afterwards.
package struct StripeOperations: Sendable {
    struct Operation: Sendable {
        let key: String
        /// Nil with the older API.
        let intentId: String?
        /// Why the intent is being cancelled; nil when it is not.
        let failure: ProviderFailure?
        let isAbandoned: Bool
        /// When a charge was last requested from Stripe.
        let askedAt: Timestamp
        /// Requests that may have charged the customer: all except requests that Stripe refused without effect.
        let unanswered: Int64
    }

    let store: ClassStore

    func find(_ key: String, for share: WorkShare?) async throws -> Operation? {
        try await store.read(for: share) { try Self.row(key, in: $0) }
    }

    /// Stores the intent of an operation, unless one is stored.
    /// - Returns: the stored operation, which may have another intent or be abandoned.
    func keep(_ key: String, intentId: String, for share: WorkShare?) async throws -> Operation {
        try await store.write(for: share) {
            _ = try $0.execute(
                "INSERT INTO stripeOperations(key, intentId, askedAt) VALUES (?, ?, ?) ON CONFLICT(key) DO NOTHING",
                [.text(key), .text(intentId), .int($0.now.milliseconds)])
            return try Self.kept(key, in: $0)
        }
    }

    /// Records that a charge is about to be requested from Stripe, unless the operation was abandoned.
    func begin(_ key: String, for share: WorkShare?) async throws -> Operation {
        try await store.write(for: share) {
            _ = try $0.execute(
                """
                INSERT INTO stripeOperations(key, askedAt, unanswered) VALUES (?, ?, 1)
                ON CONFLICT(key) DO UPDATE SET askedAt = excluded.askedAt,
                unanswered = stripeOperations.unanswered + 1 WHERE stripeOperations.isAbandoned = 0
                """, [.text(key), .int($0.now.milliseconds)])
            return try Self.kept(key, in: $0)
        }
    }

    /// Records that Stripe refused a request of `begin` without effect.
    func refused(_ key: String, for share: WorkShare?) async throws {
        try await store.write(for: share) {
            _ = try $0.execute(
                "UPDATE stripeOperations SET unanswered = unanswered - 1 WHERE key = ? AND unanswered > 0",
                [.text(key)])
        }
    }

    /// Abandons an operation if no request was made since `operation` was read; nil: the operation never began.
    /// - Returns: false when a request was made.
    func abandon(_ key: String, asOf operation: Operation?, for share: WorkShare?) async throws -> Bool {
        try await store.write(for: share) {
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

    /// Stores why an intent is about to be cancelled, so that the reason survives a lost answer.
    func note(_ key: String, _ failure: ProviderFailure, for share: WorkShare?) async throws {
        try await store.write(for: share) {
            _ = try $0.execute(
                "UPDATE stripeOperations SET failure = ? WHERE key = ?", [.text(failure.stored), .text(key)])
        }
    }

    private static func kept(_ key: String, in store: ObjectReader) throws -> Operation {
        guard let operation = try row(key, in: store) else { throw ParseError.internalError }
        return operation
    }

    static func row(_ key: String, in store: ObjectReader) throws -> Operation? {
        try store.rows("SELECT * FROM stripeOperations WHERE key = ?", [.text(key)]).first.map { row in
            try Operation(
                key: key, intentId: row["intentId"].textValue,
                failure: try row["failure"].textValue.map { try ProviderFailure(stored: $0) },
                isAbandoned: row.int("isAbandoned") == 1, askedAt: Timestamp(milliseconds: row.int("askedAt")),
                unanswered: row.int("unanswered"))
        }
    }
}
