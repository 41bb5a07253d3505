import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// The way of written mails into the queue.
package struct ShopMailQueue: Sendable {
    private let quotas: MailQuotas
    /// The address that every mail comes from.
    package let sender: MailAddress
    /// The mailboxes of the shop's own people. No stranger is written to there, so that no quota counts.
    private let staff: Set<Mailbox>

    package init(sender: MailAddress, staff: Set<Mailbox>, quotas: MailQuotas) {
        self.sender = sender
        self.staff = staff
        self.quotas = quotas
    }

    /// Queues a mail to each recipient.
    /// - Returns: each mail's number and Message-ID.
    /// - Throws: `.requestLimitExceeded` (155) when one of the recipients has had his mails of the day; the transaction
    ///   must not be kept then. Whoever asked hears of it, so that nothing is held for an operator.
    package func add(_ wish: ShopMailRequest, in transaction: StoreTransaction) throws -> [JSON] {
        let model = Data(wish.mail.model.serialized)
        return try wish.recipients.enumerated().map { index, recipient in
            let message = SendMailRequest.with {
                $0.template = WrittenMail.template
                $0.toAddress = recipient.address
                $0.toName = recipient.name
                $0.model = model
                $0.byShop = staff.contains(Mailbox(recipient.address))
            }
            let key = Names.random(20)
            guard try MailQueue.add(message, key: key, quotas: quotas, in: transaction) == .send else {
                throw ParseError(
                    .requestLimitExceeded,
                    """
                    Address \(index + 1) of to has had its mails of today (SATCHEL_MAILS_PER_RECIPIENT). No mail was \
                    queued.
                    """)
            }
            let rows = try transaction.rows("SELECT id, messageId FROM mails WHERE key = ?", [.text(key)])
            guard let row = rows.first else { throw ParseError.internalError }
            return try ["id": .int(row.int("id")), "messageId": .string("\(row.text("messageId"))@\(sender.domain)")]
        }
    }
}
