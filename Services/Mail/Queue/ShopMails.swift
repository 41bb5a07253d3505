import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud function `sendShopMail`: mails that cloud code wrote, which go the way of the shop's own.
struct ShopMails: Sendable {
    let store: ClassStore
    let sender: MailSender
    let audit: AuditTrail
    let quotas: MailQuotas
    /// The address that every mail comes from.
    let address: MailAddress
    /// The mailboxes of the shop's own people. No stranger is written to there, so that no quota counts.
    let staff: Set<Mailbox>

    /// `sendShopMail {to, subject?, text?, html?, from?, replyTo?}` queues a mail to each recipient, or none at all.
    func install(in routes: inout ServiceRoutes) {
        routes.function("sendShopMail") { parameters, request in
            // What a mail says would be anybody's otherwise, in the shop's name.
            try request.requireMaster()
            let wish = try ShopMailRequest(parameters, sender: address)
            return try await store.write { transaction in
                try KeyedReplies.once(request, nil, in: transaction) { transaction in
                    let mails = try queue(wish, in: transaction)
                    let after: JSON = ["mails": .int(Int64(mails.count))]
                    try audit.note(.init("sendShopMail", after: after), by: request, in: transaction)
                    transaction.afterCommit { sender.wake() }
                    return try .result(["mails": .array(mails)])
                }
            }
        }
    }

    /// - Returns: each mail's number and Message-ID.
    /// - Throws: `.requestLimitExceeded` (155) when one of the recipients has had his mails of the day. Whoever asked
    ///   hears of it, so that nothing is held for an operator.
    func queue(_ wish: ShopMailRequest, in transaction: StoreTransaction) throws -> [JSON] {
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
            guard case .send = try MailQueue.add(message, key: key, quotas: quotas, in: transaction) else {
                throw ParseError(
                    .requestLimitExceeded,
                    """
                    Address \(index + 1) of to has had its mails of today (SATCHEL_MAILS_PER_RECIPIENT). No mail was \
                    queued.
                    """)
            }
            let rows = try transaction.rows("SELECT id, messageId FROM mails WHERE key = ?", [.text(key)])
            guard let row = rows.first else { throw ParseError.internalError }
            return try ["id": .int(row.int("id")), "messageId": .string("\(row.text("messageId"))@\(address.domain)")]
        }
    }
}
