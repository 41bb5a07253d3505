import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The quota for requested mails, which protects mailboxes against floods caused by others. Counts survive the deletion
/// of the account that caused them.
package enum MailQuota {
    package enum Subject: Sendable {
        case account(String, MailedLink)
        /// A mailbox across all accounts, by a keyed hash of its normalised address. Links of verified accounts are
        /// counted separately, so that sign-ups with the same mailbox cannot exhaust their quota.
        case mailbox(String, isVerified: Bool)
        /// The same per day.
        case mailboxInADay(String, isVerified: Bool)
        /// A network that requests links. The limit comes from the settings; 0 disables the quota.
        case asking(network: String, perHour: Int)
        /// A network that signs up addresses. The limit comes from the settings; 0 disables the quota.
        case signingUp(network: String, perHour: Int)
        /// An admin who invites operators; empty for the master key.
        case inviting(String)
        /// An invited mailbox per day, by the hash of `mailbox`. Customers' mails do not count.
        case invited(String)

        var key: String {
            switch self {
            case .account(let id, let link): "account:\(id):\(link.rawValue)"
            case .mailbox(let hash, let isVerified): "mailbox:\(isVerified):\(hash)"
            case .mailboxInADay(let hash, let isVerified): "mailboxInADay:\(isVerified):\(hash)"
            case .asking(let network, _): "network:\(network)"
            case .signingUp(let network, _): "signUps:\(network)"
            case .inviting(let userId): "inviting:\(userId)"
            case .invited(let hash): "invited:\(hash)"
            }
        }

        /// Mails per `window`. More would not help a user who did not find the earlier ones.
        package var max: Int64 {
            switch self {
            case .account: 5
            case .mailbox: 6
            case .mailboxInADay(_, let isVerified): isVerified ? 20 : 10
            case .asking(_, let perHour), .signingUp(_, let perHour): Int64(perHour)
            case .inviting: 30
            case .invited: 5
            }
        }

        var window: Duration {
            switch self {
            case .account, .mailbox, .asking, .signingUp, .inviting: .seconds(3600)
            case .mailboxInADay, .invited: MailQuota.windowMax
            }
        }
    }

    static let windowMax = Duration.seconds(86_400)

    /// Charges one mail to each subject, up to the first one whose quota is exhausted.
    /// - Returns: whether all quotas suffice.
    package static func admits(_ subjects: [Subject], in transaction: StoreTransaction) throws -> Bool {
        try subjects.allSatisfy { try admits($0, in: transaction) }
    }

    /// Charges one mail, in a single statement.
    /// - Returns: whether the quota suffices.
    package static func admits(_ subject: Subject, in transaction: StoreTransaction) throws -> Bool {
        guard subject.max > 0 else { return true }
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
