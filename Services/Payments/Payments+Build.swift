import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

package let paymentsPlan = ServicePlan(
    name: "payments",
    classes: [.paymentMethod],
    rules: ["PaymentMethod": PaymentMethodRules()],
    tables: ChargeLedger.tables + RefundLedger.tables + OpenProblems.tables + ForgottenCustomers.tables
        + DeletedUsers.tables + SandboxProvider.tables)

func buildPayments(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let name = host.configuration.reader.string(forKey: "satchel.payments", default: "sandbox")
    guard name == "sandbox" else { throw UnknownPaymentProvider(name: name) }
    let provider = SandboxProvider(store: host.store)

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
    routes.write("payments.userDeleted.v1", UserDeleted.self) { message, _, transaction in
        try DeletedUsers.forget(message.userID, in: transaction)
        return try BusReply(Accepted())
    }
    PaymentFunctions(host: host, provider: provider).install(in: &routes)
    host.whenWriter { await ForgottenCustomers.remove(host, provider) }
    host.whenWriter { await refunds.finish() }
}

/// `SATCHEL_PAYMENTS` names a provider that is not built. Starting with the sandbox instead would give goods away.
struct UnknownPaymentProvider: Error, CustomStringConvertible {
    let name: String
    var description: String { "SATCHEL_PAYMENTS=\(name) is not built yet in this version of Satchel; use sandbox." }
}
