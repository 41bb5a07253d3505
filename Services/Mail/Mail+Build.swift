import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

package let mailPlan = ServicePlan(name: "mail", tables: MailQueue.tables)

func buildMail(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let configuration = try MailConfiguration(reader: host.configuration.reader)
    let transport = try SpoolTransport(directory: host.configuration.dataDirectory + "/mail")
    let queue = MailQueue(store: host.store)
    let composer = MailComposer(
        sender: configuration.sender, shopName: configuration.shopName,
        templates: try MailTemplates(replacements: configuration.templatesFolder))
    let delivery = MailDelivery(queue: queue, composer: composer, transport: transport, logger: host.logger)

    routes.write("mail.send.v1", SendMailRequest.self) { message, request, transaction in
        // The sender's outbox keeps it, so that a mail asked for by a newer release is sent once this service is as new.
        guard MailTemplates.models[message.template] != nil else {
            throw ParseError(.validationError, "There is no mail template of that name.")
        }
        try MailQueue.add(message, key: request.envelope.idempotencyKey, in: transaction)
        transaction.afterCommit { delivery.wake() }
        return try BusReply(Accepted())
    }
    host.whenWriter { await delivery.run() }
}
