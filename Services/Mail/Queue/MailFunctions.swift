import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The functions with which operators see and retry mails, and `sendShopMail` for cloud code.
struct MailFunctions: Sendable {
    let store: ClassStore
    let sender: MailSender
    let composer: MailComposer
    let shopMails: ShopMailQueue
    let audit: AuditTrail
    /// As in `MailQueue`.
    let claimDuration: Duration?

    func install(in routes: inout ServiceRoutes) {
        routes.function("sendShopMail", send)
        routes.function("mails") { parameters, request in
            // The order desk also sees the mails of a single order.
            let isOfOrder = parameters["orderNo"].map { !$0.isNull } ?? false
            if isOfOrder { try request.requireArea(.support, .orders) } else { try request.requireArea(.support) }
            let list = try MailList(parameters)
            let isAdmin = request.isFromAdmin
            return try .result(
                await store.read(for: request.share) { try list.answer(in: $0, showsAddresses: isAdmin) })
        }
        routes.function("mailContent", content)
        routes.function("suppressedAddresses") { parameters, request in
            try request.requireArea(.support)
            let limit = try parameters.listLimit()
            return try .result(
                .array(await store.read(for: request.share) { try SuppressionList.newest(limit: limit, $0) }))
        }
        routes.function("unsuppressAddress") { parameters, request in
            try request.requireArea(.support)
            guard let address = parameters["address"]?.stringValue, !address.isEmpty else {
                throw ParseError(.validationError, "address is needed.")
            }
            return try await store.write(for: request.share) { transaction in
                try KeyedReplies.once(request, nil, in: transaction) { transaction in
                    guard try SuppressionList.remove(address, in: transaction) else { throw ParseError.objectNotFound }
                    try audit.note(.init("unsuppressAddress"), by: request, in: transaction)
                    return try .result([:])
                }
            }
        }
        routes.function("retryMail") { parameters, request in
            try request.requireArea(.support)
            let id = try Self.id(parameters)
            return try await store.write(for: request.share) { transaction in
                try KeyedReplies.once(request, nil, in: transaction) { transaction in
                    try MailQueue.retry(id, claimDuration: claimDuration, in: transaction)
                    try audit.note(.init("retryMail", "", String(id)), by: request, in: transaction)
                    transaction.afterCommit { sender.wake() }
                    return try .result([:])
                }
            }
        }
    }

    /// `mailContent {id}`: a mail as it is sent, without a link that opens an account.
    @Sendable private func content(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireArea(.support)
        let id = try Self.id(parameters)
        let found = try await store.read(for: request.share) { reader in
            try reader.rows("SELECT \(QueuedMail.columns) FROM mails WHERE id = ?", [.int(id)]).first
                .map(QueuedMail.init)
        }
        guard let mail = found else { throw ParseError.objectNotFound }
        // Only admins see a mail without a template: its author may have written a secret into it.
        if mail.template == FreeTextMail.template { try request.requireAdmin() }
        guard !mail.model.isEmpty else {
            throw ParseError(.validationError, "The content of this mail is no longer stored.")
        }
        let message: MailMessage
        do {
            message = try composer.shown(mail)
        } catch {
            throw ParseError(.validationError, "This mail cannot be shown: \(error)")
        }
        return try .result([
            "id": .int(id), "template": .string(mail.template), "queuedAt": mail.queuedAt.wire,
            "from": .string(message.from.address),
            "to": .string(request.isFromAdmin ? message.recipient.address : MailList.masked(message.recipient.address)),
            "subject": .string(HeaderText.singleLine(message.subject)), "text": .string(message.text),
            "html": .string(message.html),
            "attachments": .array(message.attachments.map { JSON.string($0.name) }),
        ])
    }

    private static func id(_ parameters: JSON) throws -> Int64 {
        guard let id = parameters["id"]?.intValue else {
            throw ParseError(.validationError, "id is required: the id of a mail from the function mails.")
        }
        return id
    }

    /// `sendShopMail {to, cc?, bcc?, subject?, text?, html?, from?, replyTo?, attachments?}` queues a mail to each
    /// recipient, or none at all.
    @Sendable private func send(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        // Otherwise any client could send any text in the shop's name.
        try request.requireMaster()
        let mail = try ShopMailRequest(parameters, sender: shopMails.sender)
        return try await store.write(for: request.share) { transaction in
            try KeyedReplies.once(request, nil, in: transaction) { transaction in
                let mails = try shopMails.add(mail, in: transaction)
                let after: JSON = ["mails": .int(Int64(mails.count))]
                try audit.note(.init("sendShopMail", after: after), by: request, in: transaction)
                transaction.afterCommit { sender.wake() }
                return try .result(["mails": .array(mails)])
            }
        }
    }
}
