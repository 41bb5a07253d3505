import MessageBus
import Messages
import ObjectStore
import Outbound
import ParseProtocol
import ServiceKit

package let paymentsPlan = ServicePlan(
    name: "payments",
    classes: [.paymentMethod],
    tables: ChargeLedger.tables + RefundLedger.tables + OpenProblems.tables + ForgottenCustomers.tables
        + DeletedUsers.tables + PaymentEvents.tables + SandboxProvider.tables + StripeOperations.tables
        + HighestOrder.tables
) { _ in ["PaymentMethod": PaymentMethodRules()] }

func buildPayments(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let (provider, webhooks) = try paymentProvider(host)
    let charges = Charges(store: host.store, provider: provider, logger: host.logger)
    routes.task("payments.charge.v1", ChargeRequest.self) { message, _ in
        try BusReply(await charges.charge(message))
    }
    routes.task("payments.findCharge.v1", FindChargeRequest.self) { message, _ in
        try BusReply(await charges.find(message))
    }
    let refunds = Refunds(store: host.store, provider: provider, logger: host.logger)
    routes.task("payments.refund.v1", RefundRequest.self) { message, _ in
        try BusReply(await refunds.refund(message))
    }
    routes.write("payments.orderMade.v1", OrderMade.self) { message, _, transaction in
        try HighestOrder.note(message, in: transaction)
        return try BusReply(Accepted())
    }
    routes.read("payments.highestOrder.v1", HighestOrderRequest.self) { _, _, reader in
        try BusReply(HighestOrderReply.with { $0.orderNumber = try HighestOrder.number(in: reader) })
    }
    routes.write("payments.userDeleted.v1", UserDeleted.self) { message, _, transaction in
        try DeletedUsers.forget(message.userID, in: transaction)
        return try BusReply(Accepted())
    }
    routes.task("payments.webhook.v1", PaymentWebhook.self) { message, request in
        try await webhooks.receive(request.documents.first ?? [], signature: message.signature)
        return try BusReply(Accepted())
    }
    PaymentReports(host: host).install(in: &routes)
    PaymentFunctions(host: host, provider: provider).install(in: &routes)
    host.whenWriter(
        "customers", every: ForgottenCustomers.pause, problem: "Forgotten customers could not be read or stored."
    ) {
        try await ForgottenCustomers.removeDue(host.store, provider, host.logger)
        return .idle
    }
    host.whenWriter("refunds", every: Refunds.pause, problem: "Undecided refunds could not be read or stored.") {
        try await refunds.finishDue()
        return .idle
    }
}

/// `SATCHEL_PAYMENTS`: the embedded sandbox, or Stripe.
private func paymentProvider(_ host: ServiceHost) throws -> (any PaymentProvider, Webhooks) {
    let reader = host.configuration.reader
    switch reader.string(forKey: "satchel.payments", default: "sandbox") {
    case "sandbox":
        return (
            SandboxProvider(store: host.store), Webhooks(store: host.store, secret: nil, logger: host.logger)
        )
    case "stripe":
        let configuration = try StripeConfiguration(reader: reader)
        let outbound = OutboundClient(authorities: reader.string(forKey: "satchel.ca.file"))
        let client = StripeClient(configuration, outbound: outbound, logger: host.logger)
        return (
            StripeProvider(api: configuration.api, client: client, store: host.store),
            Webhooks(store: host.store, secret: configuration.webhookSecret, logger: host.logger)
        )
    case let name: throw UnknownPaymentProvider(name: name)
    }
}

/// Starting with the sandbox instead of the provider that was meant would give goods away.
struct UnknownPaymentProvider: Error, CustomStringConvertible {
    let name: String
    var description: String { "SATCHEL_PAYMENTS=\(name) is unknown; it is sandbox or stripe." }
}
