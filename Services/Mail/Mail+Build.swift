import MessageBus
import Messages
import ObjectStore
import ServiceKit

package let mailPlan = ServicePlan(name: "mail", tables: MailQueue.tables)

func buildMail(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let configuration = try MailConfiguration(reader: host.configuration.reader)
    let transport = try SpoolTransport(directory: host.configuration.dataDirectory + "/mail")
    let queue = MailQueue(store: host.store)
    let composer = MailComposer(
        sender: configuration.sender, shopName: configuration.shopName, templates: try MailTemplates())
    let delivery = MailDelivery(queue: queue, composer: composer, transport: transport, logger: host.logger)

    routes.write("mail.send.v1", SendMailRequest.self) { message, request, transaction in
        try MailQueue.add(message, key: request.envelope.idempotencyKey, in: transaction)
        transaction.afterCommit { delivery.wake() }
        return try BusReply(Accepted())
    }
    host.whenWriter { await delivery.run() }
}
