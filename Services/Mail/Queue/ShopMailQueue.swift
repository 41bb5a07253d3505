import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// Queues the mails of `sendShopMail`.
package struct ShopMailQueue: Sendable {
    private let quotas: MailQuotas
    /// The sender address of every mail.
    package let sender: MailAddress
    /// The mailboxes of the shop's own staff. Quotas do not apply to them.
    private let staff: Set<Mailbox>

    package init(sender: MailAddress, staff: Set<Mailbox>, quotas: MailQuotas) {
        self.sender = sender
        self.staff = staff
        self.quotas = quotas
    }

    /// Queues a mail to each recipient.
    /// - Returns: each mail's number and Message-ID.
    /// - Throws: `.requestLimitExceeded` (155) when a recipient's daily quota is used up; the caller must roll the
    ///   transaction back. The caller gets the error, so no mail is held for an operator.
    package func add(_ request: ShopMailRequest, in transaction: StoreTransaction) throws -> [JSON] {
        try request.copies.enumerated().map { index, copy in
            let recipient = copy.recipient
            let message = SendMailRequest.with {
                $0.template = FreeTextMail.template
                $0.toAddress = recipient.address
                $0.toName = recipient.name
                $0.model = Data(copy.mail.model.serialized)
                $0.byShop = staff.contains(Mailbox(recipient.address))
            }
            let key = Names.random(20)
            guard try MailQueue.add(message, key: key, quotas: quotas, in: transaction) == .send else {
                throw ParseError(
                    .requestLimitExceeded,
                    """
                    The daily quota of recipient \(index + 1) is used up (SATCHEL_MAILS_PER_RECIPIENT). No mail was \
                    queued.
                    """)
            }
            let rows = try transaction.rows("SELECT id, messageId FROM mails WHERE key = ?", [.text(key)])
            guard let row = rows.first else { throw ParseError.internalError }
            return try ["id": .int(row.int("id")), "messageId": .string("\(row.text("messageId"))@\(sender.domain)")]
        }
    }
}
