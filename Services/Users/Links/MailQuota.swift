import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// How many mails may be asked for, so that nobody's mailbox is filled by somebody else.
package enum MailQuota {
    static let tables = [
        "CREATE TABLE IF NOT EXISTS mailQuota(subject TEXT PRIMARY KEY, asked INTEGER NOT NULL, endsAt INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX IF NOT EXISTS mailQuotaByEnd ON mailQuota(endsAt)",
    ]

    package enum Subject: Sendable {
        case account(String, MailedLink)
        /// The setting says how many.
        case address(String, perHour: Int)

        var key: String {
            switch self {
            case .account(let id, let link): "account:\(id):\(link.rawValue)"
            case .address(let address, _): "address:\(SignInSubject.network(address))"
            }
        }

        /// Requests an hour. Who does not find the third mail will not find the sixth.
        package var perHour: Int64 {
            switch self {
            case .account: 5
            case .address(_, let perHour): Int64(perHour)
            }
        }
    }

    private static let window = Duration.seconds(3600)

    /// Counts one request, in one statement.
    /// - Returns: whether it is within the quota.
    package static func admits(_ subject: Subject, in transaction: StoreTransaction) throws -> Bool {
        let asked = try transaction.rows(
            """
            INSERT INTO mailQuota(subject, asked, endsAt) VALUES (?1, 1, ?2)
            ON CONFLICT(subject) DO UPDATE SET
                asked = CASE WHEN endsAt <= ?3 THEN 1 ELSE min(asked + 1, 1000000) END,
                endsAt = CASE WHEN endsAt <= ?3 THEN excluded.endsAt ELSE endsAt END
            RETURNING asked
            """,
            [
                .text(subject.key), .int(transaction.now.advanced(by: window).milliseconds),
                .int(transaction.now.milliseconds),
            ]
        ).first?.int("asked")
        return (asked ?? .max) <= subject.perHour
    }

    static func removeExpired(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM mailQuota WHERE endsAt <= ?", [.int(transaction.now.milliseconds)])
    }
}
