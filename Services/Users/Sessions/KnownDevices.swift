import Messages
import ObjectStore
import ParseProtocol

/// The devices from which an account has signed in. A device is identified by its installation id, or without one by
/// its network. Both are stored as keyed hashes.
package enum KnownDevices {
    /// Limit of devices per account; beyond it the oldest are dropped.
    static let perUserMax = 20
    /// A device that was not seen for this long is considered new.
    static let remembered = Duration.seconds(400 * 86_400)
    /// Limit of an installation id. Apps send UUIDs; a longer text is ignored.
    private static let installationIdBytesMax = 128

    private static func device(installationId: String, _ key: AccountKey) -> String? {
        guard (1...installationIdBytesMax).contains(installationId.utf8.count) else { return nil }
        return key.digest("installation:\(installationId)", for: .device)
    }

    private static func device(network: String, _ key: AccountKey) -> String? {
        network.isEmpty ? nil : key.digest("network:\(network)", for: .device)
    }

    /// A sign-in attempt by this principal. The query is the same for an unknown account.
    static func attempt(
        on account: String, by principal: Principal, _ key: AccountKey, _ reader: ObjectReader
    ) throws -> SignInAttempt {
        let candidates = [
            device(installationId: principal.installationID, key), device(network: principal.network, key),
        ].compactMap(\.self)
        let known = try candidates.first { device in
            try !reader.rows(
                "SELECT 1 FROM knownDevices WHERE userId = ? AND device = ?", [.text(account), .text(device)]
            ).isEmpty
        }
        return SignInAttempt(account: account, network: principal.network, device: known)
    }

    /// Remembers the client of a successful sign-in, or of a visited mail link.
    static func remember(
        _ userId: String, _ principal: Principal, _ key: AccountKey, in transaction: StoreTransaction
    ) throws {
        guard
            let device = device(installationId: principal.installationID, key)
                ?? device(network: principal.network, key)
        else { return }
        try remember(userId, device, in: transaction)
    }

    /// Remembers the device of a session of an earlier release.
    static func remember(
        _ userId: String, installationId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws {
        guard let device = device(installationId: installationId, key) else { return }
        try remember(userId, device, in: transaction)
    }

    private static func remember(_ userId: String, _ device: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO knownDevices(userId, device, seenAt) VALUES (?1, ?2, ?3)
            ON CONFLICT(userId, device) DO UPDATE SET seenAt = excluded.seenAt
            """, [.text(userId), .text(device), .int(transaction.now.milliseconds)])
        try transaction.execute(
            """
            DELETE FROM knownDevices WHERE userId = ?1 AND device NOT IN
            (SELECT device FROM knownDevices WHERE userId = ?1 ORDER BY seenAt DESC LIMIT ?2)
            """, [.text(userId), .int(Int64(perUserMax))])
    }

    static func forgetAll(of userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM knownDevices WHERE userId = ?", [.text(userId)])
    }

    static func forgetOld(in transaction: StoreTransaction) throws {
        let end = transaction.now.milliseconds - Int64(remembered / .milliseconds(1))
        try transaction.execute("DELETE FROM knownDevices WHERE seenAt < ?", [.int(end)])
    }
}
