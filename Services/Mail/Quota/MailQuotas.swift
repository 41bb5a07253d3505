import Messages
import ObjectStore
import ParseProtocol

/// Daily quotas on mails that clients can cause without proving that the address is theirs: per mailbox (all templates
/// and all accounts together), per user and per network. Mails of the shop are exempt, and so are mails to verified
/// addresses unless they are links. A mail over a quota is held: an operator can see and send it. After `heldPerDay`
/// held mails of a mailbox, further mails are dropped and only counted. The client that caused the mail gets no error.
package struct MailQuotas: Sendable {
    /// Mails per day; 0: no quota.
    package struct Limits: Sendable {
        /// `SATCHEL_MAILS_PER_RECIPIENT`
        package var perRecipient = 12
        /// `SATCHEL_MAILS_PER_USER`
        package var perUser = 30
        /// `SATCHEL_MAILS_PER_NETWORK`
        package var perNetwork = 500

        package init() {}
    }

    /// The decision about a mail.
    package enum Verdict: Sendable, Equatable {
        case send
        case held(reason: String)
        /// Not stored. `drop` increments the counter in row `bucket` of `mailAllowances` and writes the new count into
        /// the column `problem` of the newest held mail.
        case dropped(bucket: String)
    }

    /// The part of a mailbox's quota reserved for links, so that mails about orders never block a password reset.
    private static let reservedForLinks = 3
    /// Maximum held mails per day and mailbox.
    private static let heldPerDay = 5

    private let limits: Limits

    package init(_ limits: Limits) { self.limits = limits }

    /// Takes the mail from one quota after the other, until one is used up, and decides whether it is sent, held or
    /// dropped. A held mail stays counted in the earlier quotas.
    package func decide(on message: SendMailRequest, in transaction: StoreTransaction) throws -> Verdict {
        let isLink = MailTemplates.kinds[message.template] == .link
        // Links are counted also for verified addresses: any client can request one for any address.
        guard !message.byShop, isLink || !message.addressVerified else { return .send }
        let mailbox = Mailbox(message.toAddress).digest
        let quotas = [
            ("network:\(message.network)", message.network.isEmpty ? 0 : limits.perNetwork, 0, "of this network"),
            ("user:\(message.userID)", message.userID.isEmpty ? 0 : limits.perUser, 0, "of this user"),
            ("to:\(mailbox)", limits.perRecipient, isLink ? 0 : Self.reservedForLinks, "of this address"),
        ]
        for (key, perDay, reserved, quotaName) in quotas where perDay > 0 {
            if try take(key, perDay: perDay, reserving: reserved, in: transaction) { continue }
            let bucket = "held:\(mailbox)"
            guard try take(bucket, perDay: Self.heldPerDay, in: transaction) else { return .dropped(bucket: bucket) }
            return .held(reason: "Held: over the quota \(quotaName), which is \(perDay) mails a day.")
        }
        return .send
    }

    /// Remembers the newest held mail, which shows the number of dropped mails.
    static func rememberHeld(_ mailId: Int64, to address: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE mailAllowances SET heldMail = ? WHERE subject = ?",
            [.int(mailId), .text("held:\(Mailbox(address).digest)")])
    }

    /// Counts a dropped mail.
    static func drop(_ bucket: String, in transaction: StoreTransaction) throws {
        let counted = try transaction.rows(
            "UPDATE mailAllowances SET dropped = dropped + 1 WHERE subject = ? RETURNING dropped, heldMail",
            [.text(bucket)])
        guard let row = counted.first, let mail = try row["heldMail"].intValue else { return }
        try transaction.execute(
            "UPDATE mails SET problem = ? WHERE id = ? AND state = 'held'",
            [.text("Held, and \(try row.int("dropped")) more to this address were dropped."), .int(mail)])
    }

    /// Takes one mail from a bucket.
    /// - Parameter key: the value of the column `subject`.
    /// - Returns: false when the bucket is empty.
    private func take(
        _ key: String, perDay: Int, reserving reserved: Int = 0, in transaction: StoreTransaction
    ) throws -> Bool {
        let stored = try transaction.rows("SELECT fullAt FROM mailAllowances WHERE subject = ?", [.text(key)])
        var bucket = MailQuotaBucket(perDay: perDay, fullAt: try stored.first?.int("fullAt") ?? 0)
        guard bucket.take(at: transaction.now.milliseconds, reserving: reserved) else { return false }
        try transaction.execute(
            """
            INSERT INTO mailAllowances(subject, fullAt) VALUES (?, ?)
            ON CONFLICT(subject) DO UPDATE SET fullAt = excluded.fullAt
            """,
            [.text(key), .int(bucket.fullAt)])
        return true
    }

    /// Deletes the rows of full buckets; a missing row means a full bucket.
    package static func deleteFull(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM mailAllowances WHERE fullAt <= ?", [.int(transaction.now.milliseconds)])
    }
}
