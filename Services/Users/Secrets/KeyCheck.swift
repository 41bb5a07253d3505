import Logging
import ObjectStore

/// Tells the operator when the file was written with another key.
struct KeyCheck: Sendable {
    let store: ClassStore
    let key: AccountKey
    let logger: Logger

    /// - Throws: what the store throws.
    func check() async throws {
        let digest = key.digest("users.sqlite", for: .keptReply)
        let known = try await store.write { transaction in
            let known = try transaction.rows("SELECT digest FROM accountKey").first?.text("digest")
            if known == nil {
                try transaction.execute("INSERT INTO accountKey(id, digest) VALUES (1, ?)", [.text(digest)])
            }
            return known ?? digest
        }
        guard known != digest else { return }
        logger.critical(
            """
            users.key is not the key that users.sqlite was written with: sessions, anonymous users and second \
            factors of before cannot be recognised. Put the right file back and restart.
            """)
    }
}
