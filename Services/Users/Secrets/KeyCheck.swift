import Logging
import ObjectStore
import ProcessKit

/// Detects that the database was written with another account key.
struct KeyCheck: Sendable {
    let store: ClassStore
    let key: AccountKey
    let logger: Logger

    private var digest: String { key.digest("users.sqlite", for: .keptReply) }

    private static func known(in store: ObjectReader) throws -> String? {
        try store.rows("SELECT digest FROM accountKey", []).first?.text("digest")
    }

    /// For a process that writes beside others.
    /// - Throws: `StartupProblem` when the others use another key.
    @Sendable func requireSame(_ reader: StoreReader) throws {
        guard let known = try Self.known(in: reader), known != digest else { return }
        throw StartupProblem("This process has another users.key than the others that write (SATCHEL_USERS_KEY_FILE).")
    }

    /// - Throws: errors of the store.
    func check() async throws {
        let digest = digest
        let known = try await store.write(for: nil) { transaction in
            let known = try Self.known(in: transaction)
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
