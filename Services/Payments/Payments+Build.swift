import MessageBus
import Messages
import ObjectStore
import Outbound
import ParseProtocol
import ProcessKit
import ServiceKit

package let paymentsPlan = ServicePlan(
    name: "payments",
    classes: [.paymentMethod],
    migrations: paymentsMigrations
) { _ in ["PaymentMethod": PaymentMethodRules()] }

/// - Parameter simulated: the provider in a simulation, with the secret of its webhooks; nil for the configured one.
package func buildPayments(
    _ host: ServiceHost, _ routes: inout ServiceRoutes,
    simulated: (provider: any PaymentProvider, webhookSecret: String?)? = nil
) throws {
    let (configured, desk, configuredWebhooks) = try paymentProvider(host)
    let provider = simulated?.provider ?? configured
    let webhooks =
        simulated.map {
            Webhooks(store: host.store, outbox: host.outbox, secret: $0.webhookSecret, logger: host.logger)
        }
        ?? configuredWebhooks
    let charges = Charges(store: host.store, provider: provider, logger: host.logger)
    routes.task(PaymentsCalls.charge) { message, request in
        try await charges.charge(message, for: request.share)
    }
    routes.task(PaymentsCalls.findCharge) { message, request in
        try await charges.find(message, for: request.share)
    }
    let refunds = Refunds(store: host.store, provider: provider, logger: host.logger)
    routes.task(PaymentsCalls.refund) { message, request in
        try await refunds.refund(message, for: request.share)
    }
    routes.task(PaymentsCalls.undoCharge) { message, request in
        try await ChargeUndo(charges: charges, refunds: refunds, logger: host.logger)
            .undo(message.operationID, for: request.share)
        return Accepted()
    }
    routes.park(ParkedUndos.kind)
    let news = NotificationCalls(to: paymentsPlan.name)
    // Idempotent: the maximum does not change when a message arrives twice.
    routes.accept(news.orderMade, keyed: false) { message, _, transaction in
        try HighestOrder.note(message, in: transaction)
    }
    routes.read(PaymentsCalls.highestOrder) { _, _, reader in
        try HighestOrderReply.with { $0.orderNumber = try HighestOrder.number(in: reader) }
    }
    routes.accept(news.userDeleted) { message, _, transaction in
        try AccountDeletion.forget(message.userID, in: transaction)
    }
    routes.task(PaymentsCalls.webhook) { message, request in
        try await webhooks.receive(
            request.documents.first ?? [], signature: message.signature, for: request.share)
        return Accepted()
    }
    PaymentReports(host: host).install(in: &routes)
    PaymentFunctions(host: host, provider: provider).install(in: &routes)
    CodePayments(host: host, desk: desk).install(in: &routes)
    ForeignCharges(host: host, provider: provider).install(in: &routes)
    if provider is SandboxProvider { SandboxActions(host: host).install(in: &routes) }
    if let client = desk as? StripeClient {
        let books = StripeBooks(client: client, store: host.store)
        routes.installBooks { try await books.answer($0) }
    }
    host.whenWriter(
        "customers", every: CustomerDeletions.pause, problem: "Customers to delete could not be read or stored."
    ) {
        try await CustomerDeletions.removeDue(host.store, provider, host.logger)
        return .idle
    }
    host.report { reader in try OpenPayments.figures(in: reader, at: .now) }
    host.limitStoredTimes(RefundLedger.waits)
    host.whenWriter("refunds", every: Refunds.pause, problem: "Undecided refunds could not be read or stored.") {
        try await refunds.finishDue()
        return .idle
    }
}

/// `SATCHEL_PAYMENTS`: the embedded sandbox, or Stripe.
private func paymentProvider(_ host: ServiceHost) throws -> (any PaymentProvider, any StripeAPI, Webhooks) {
    let settings = host.configuration.settings
    switch settings.text("satchel.payments", default: "sandbox") {
    case "sandbox":
        return (
            SandboxProvider(store: host.store), SandboxAPI(store: host.store),
            Webhooks(store: host.store, outbox: host.outbox, secret: nil, logger: host.logger)
        )
    case "stripe":
        let configuration = try StripeConfiguration(settings)
        let outbound = try OutboundClient.loaded(authorities: settings["satchel.ca.file"])
        let client = StripeClient(
            configuration, outbound: outbound, logger: host.logger,
            keyStanding: StripeKeyHealth { [warnings = host.warnings] in warnings.set($0, of: "stripe") })
        return (
            StripeProvider(api: configuration.api, client: client, store: host.store), client,
            Webhooks(
                store: host.store, outbox: host.outbox, secret: configuration.webhookSecret, logger: host.logger)
        )
    // Falling back to the sandbox instead of the intended provider would give goods away.
    default: throw settings.wrong("satchel.payments", "must be sandbox or stripe.")
    }
}
