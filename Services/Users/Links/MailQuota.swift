import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The bound on the mails that may be asked for, so that nobody's mailbox is filled by somebody else. Counts do not end
/// with the account that caused them.
package enum MailQuota {
    package enum Subject: Sendable {
        case account(String, MailedLink)
        /// A mailbox, whichever accounts name it, by a keyed hash of `AccountNames.mailbox`. The links of a verified
        /// account are counted apart, so that nobody closes them by signing its mailbox up.
        case mailbox(String, isVerified: Bool)
        /// A mailbox as above, counted by the day.
        case mailboxInADay(String, isVerified: Bool)
        /// A network that asks for links; the setting says how many.
        case asking(network: String, perHour: Int)
        /// A network that signs addresses up; the setting says how many.
        case signingUp(network: String, perHour: Int)

        var key: String {
            switch self {
            case .account(let id, let link): "account:\(id):\(link.rawValue)"
            case .mailbox(let hash, let isVerified): "mailbox:\(isVerified):\(hash)"
            case .mailboxInADay(let hash, let isVerified): "mailboxInADay:\(isVerified):\(hash)"
            case .asking(let network, _): "network:\(network)"
            case .signingUp(let network, _): "signUps:\(network)"
            }
        }

        /// Mails in `window`. Who does not find the third will not find the sixth.
        package var max: Int64 {
            switch self {
            case .account: 5
            case .mailbox: 6
            case .mailboxInADay(_, let isVerified): isVerified ? 20 : 10
            case .asking(_, let perHour), .signingUp(_, let perHour): Int64(perHour)
            }
        }

        var window: Duration {
            switch self {
            case .account, .mailbox, .asking, .signingUp: .seconds(3600)
            case .mailboxInADay: .seconds(86_400)
            }
        }
    }

    /// Counts one mail for each subject up to the first that has no more.
    /// - Returns: whether it is within the quotas of all.
    package static func admits(_ subjects: [Subject], in transaction: StoreTransaction) throws -> Bool {
        try subjects.allSatisfy { try admits($0, in: transaction) }
    }

    /// Counts one request, in one statement.
    /// - Returns: whether it is within the quota.
    package static func admits(_ subject: Subject, in transaction: StoreTransaction) throws -> Bool {
        let asked = try transaction.rows(
            """
            INSERT INTO mailQuota(subject, asked, endsAt) VALUES (?1, 1, ?2)
            ON CONFLICT(subject) DO UPDATE SET
                asked = CASE WHEN mailQuota.endsAt <= ?3 THEN 1
                    WHEN mailQuota.asked < 1000000 THEN mailQuota.asked + 1 ELSE mailQuota.asked END,
                endsAt = CASE WHEN mailQuota.endsAt <= ?3 THEN excluded.endsAt ELSE mailQuota.endsAt END
            RETURNING asked
            """,
            [
                .text(subject.key), .int(transaction.now.advanced(by: subject.window).milliseconds),
                .int(transaction.now.milliseconds),
            ]
        ).first?.int("asked")
        return (asked ?? .max) <= subject.max
    }

    static func removeExpired(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM mailQuota WHERE endsAt <= ?", [.int(transaction.now.milliseconds)])
    }
}
