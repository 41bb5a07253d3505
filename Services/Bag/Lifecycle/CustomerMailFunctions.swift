import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `mailCustomer {orderId, subject, text}` or `{userId, subject, text}`: the order desk and support write to the
/// customer of an order, support also to any user. The mail is kept with the order's notes.
struct CustomerMailFunctions: Sendable {
    let host: ServiceHost
    let contacts: CustomerContacts

    private struct Recipient: Sendable {
        /// Empty when the account was deleted.
        let customerId: String
        let address: String
        /// Nil for a mail about no order.
        var orderId: String?
        var orderNo: Int64 = 0
    }

    func install(in routes: inout ServiceRoutes) {
        routes.function("mailCustomer") { [self] parameters, request in
            try request.requireArea(.orders, .support)
            let isOfOrder = parameters["orderId"].map { !$0.isNull } ?? false
            if !isOfOrder, parameters["userId"] != nil { try request.requireArea(.support) }
            try parameters.requireOnly(["orderId", "userId", "subject", "text"])
            guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
            let mail = try CustomerMail(parameters)
            let recipient = try await isOfOrder ? ofOrder(parameters, request) : ofUser(parameters, request)
            guard !recipient.address.isEmpty else {
                throw ParseError(.validationError, "No e-mail address of this customer is known.")
            }
            let userId = request.envelope.principal.master ? "" : try request.userId
            let author = OrderNotes.Author(userId: userId, name: await contacts.name(of: userId, for: request))
            return try await host.commit(request) { transaction in
                try send(mail, to: recipient, by: author, request, in: transaction)
            }
        }
    }

    private func send(
        _ mail: CustomerMail, to recipient: Recipient, by author: OrderNotes.Author, _ request: ServiceRequest,
        in transaction: StoreTransaction
    ) throws -> BusReply {
        let note = try OrderNotes.keep(
            mail, to: recipient.customerId, about: recipient.orderId, by: author, in: transaction)
        let noteId = note["objectId"] ?? .null
        try host.outbox.add(
            MailCalls.send, mail.message(to: recipient.address, orderNo: recipient.orderNo),
            key: "note:\(noteId.stringValue ?? ""):mail", in: transaction)
        // Entries outlive the customer's account, so that the log hides subject and text.
        let isOfOrder = recipient.orderId != nil
        try host.audit.note(
            .init(
                "mailCustomer", isOfOrder ? "Order" : "_User", recipient.orderId ?? recipient.customerId,
                after: ["noteId": noteId, "subject": .string(mail.subject), "text": .string(mail.text)],
                hiding: ["subject", "text"]), by: request, in: transaction)
        return try .result(note)
    }

    /// The customer's current address, or else the one that came with the order.
    private func ofOrder(_ parameters: JSON, _ request: ServiceRequest) async throws -> Recipient {
        guard parameters["userId"]?.isNull ?? true else {
            throw ParseError(.validationError, "Only one of orderId and userId is allowed.")
        }
        let orderId = try OrderFunctions.orderId(parameters)
        let stored = try await host.store.read(for: request.share) { reader in
            let order = try OrderRecord(orderId, in: reader)
            guard !OrderStatus.isOpen(order.document) else { throw ParseError.objectNotFound }
            let address = order.payment?.email ?? order.document["email"]?.stringValue ?? ""
            return Recipient(
                customerId: order.customerId, address: address, orderId: orderId, orderNo: order.orderNo)
        }
        let contact = await contacts.contact(of: stored.customerId, for: request)
        guard let contact, !contact.email.isEmpty else { return stored }
        return Recipient(
            customerId: stored.customerId, address: contact.email, orderId: orderId, orderNo: stored.orderNo)
    }

    private func ofUser(_ parameters: JSON, _ request: ServiceRequest) async throws -> Recipient {
        let userId = try parameters.objectIdParameter("userId")
        let contact = try await host.call(
            UsersCalls.contact, ContactRequest.with { $0.userID = userId }, for: request)
        return Recipient(customerId: userId, address: contact.email)
    }
}
