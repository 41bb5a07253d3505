import Messages
import ObjectStore
import ParseProtocol

/// The bound on the mails that somebody who need not prove who he is can cause in a day: per mailbox over all kinds of
/// mail and all accounts, per user and per network. What is over it is not sent: it is held, for an operator to see and
/// to send, and of what is held in masses only the number is kept. Whoever caused it is told nothing.
package struct MailQuotas: Sendable {
    /// Mails a day; 0: no quota.
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
        /// It is counted on the mail that was held last under this subject.
        case dropped(subject: String)
    }

    /// The part of a mailbox's quota that is kept for links: mails about orders must not keep anybody from a new
    /// password.
    private static let keptForLinks = 3
    /// Mails that are kept to look at, a day and mailbox.
    private static let heldPerDay = 5

    private let limits: Limits

    package init(_ limits: Limits) { self.limits = limits }

    /// Counts a mail that is about to be queued.
    package func verdict(on message: SendMailRequest, in transaction: StoreTransaction) throws -> Verdict {
        let isLink = MailTemplates.models[message.template] == .link
        // A link can be asked for by anybody, also to a verified address.
        guard !message.byShop, isLink || !message.addressVerified else { return .send }
        let mailbox = Mailbox(message.toAddress).digest
        let quotas = [
            ("network:\(message.network)", message.network.isEmpty ? 0 : limits.perNetwork, 0, "by this network"),
            ("user:\(message.userID)", message.userID.isEmpty ? 0 : limits.perUser, 0, "by this user"),
            ("to:\(mailbox)", limits.perRecipient, isLink ? 0 : Self.keptForLinks, "to this address"),
        ]
        for (subject, perDay, kept, who) in quotas where perDay > 0 {
            if try take(subject, perDay: perDay, keeping: kept, in: transaction) { continue }
            let held = "held:\(mailbox)"
            guard try take(held, perDay: Self.heldPerDay, in: transaction) else { return .dropped(subject: held) }
            return .held(reason: "Held: more than \(perDay) mails a day were caused \(who).")
        }
        return .send
    }

    /// Notes which mail was held last, for the count of those that are dropped after it.
    static func held(_ mailId: Int64, to address: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "UPDATE mailAllowances SET heldMail = ? WHERE subject = ?",
            [.int(mailId), .text("held:\(Mailbox(address).digest)")])
    }

    /// Counts a mail that is not even kept.
    static func drop(_ subject: String, in transaction: StoreTransaction) throws {
        let counted = try transaction.rows(
            "UPDATE mailAllowances SET dropped = dropped + 1 WHERE subject = ? RETURNING dropped, heldMail",
            [.text(subject)])
        guard let row = counted.first, let mail = try row["heldMail"].intValue else { return }
        try transaction.execute(
            "UPDATE mails SET problem = ? WHERE id = ? AND state = 'held'",
            [.text("Held, and \(try row.int("dropped")) more to this address were dropped."), .int(mail)])
    }

    private func take(
        _ subject: String, perDay: Int, keeping kept: Int = 0, in transaction: StoreTransaction
    ) throws -> Bool {
        let stored = try transaction.rows("SELECT fullAt FROM mailAllowances WHERE subject = ?", [.text(subject)])
        var allowance = MailAllowance(perDay: perDay, fullAt: try stored.first?.int("fullAt") ?? 0)
        guard allowance.take(at: transaction.now.milliseconds, keeping: kept) else { return false }
        try transaction.execute(
            """
            INSERT INTO mailAllowances(subject, fullAt) VALUES (?, ?)
            ON CONFLICT(subject) DO UPDATE SET fullAt = excluded.fullAt
            """,
            [.text(subject), .int(allowance.fullAt)])
        return true
    }

    /// Removes allowances that are full again, which are as good as none.
    package static func forgetFull(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM mailAllowances WHERE fullAt <= ?", [.int(transaction.now.milliseconds)])
    }
}
