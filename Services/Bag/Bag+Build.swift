import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Classes, rules and tables of the bag service.
package func bagPlan(_ currency: Currency) -> ServicePlan {
    // Objects are private by their ACL; nobody adds fields, because clients' fields pass a list in the rules.
    let permissions = ClassPermissions(
        find: .signedIn, count: .signedIn, get: .signedIn, create: .signedIn, update: .signedIn, delete: .signedIn)
    var plan = ServicePlan(
        name: "bag",
        classes: [
            ClassDefinition(
                "Order",
                fields: [
                    "customer": .pointer("_User"), "orderNo": .number, "orderDate": .date, "items": .array,
                    "orderStatus": .number, "stripePaymentId": .string, "note": .string, "giftMessage": .string,
                    "shippingAddress": .object, "email": .string, "total": .number, "currency": .string,
                    "orderState": .string, "shippedAt": .date, "deliveredAt": .date, "cancelledAt": .date,
                    "refundedAt": .date,
                    "refundedTotal": .number, "refundState": .string, "carrier": .string, "trackingNumber": .string,
                    "trackingUrl": .string, "cancelReason": .string,
                ],
                indexes: [
                    ["customer", "orderStatus"], ["customer", "orderNo"], ["orderStatus", "orderNo"],
                    ["orderState", "orderNo"],
                    ["orderDate"],
                ],
                uniqueIndexes: [["orderNo"]], permissions: permissions),
            ClassDefinition(
                "OrderItem",
                fields: [
                    "quantity": .number, "product": .pointer("Product"), "customer": .pointer("_User"),
                    "unitPriceMinorUnits": .number, "name": .string,
                ],
                indexes: [["customer"]], permissions: permissions),
            .address, OrderNotes.definition,
        ],
        migrations: bagMigrations
    ) { host in
        let prices = BagPrices(host: host)
        return [
            "Order": OrderRules(prices: prices, currency: currency.code), "OrderItem": OrderItemRules(prices: prices),
            "Address": AddressRules(),
        ]
    }
    // The order desk and support read what is the admins' to read here: made orders and their lines.
    plan.readingCaller = { principal in
        var caller = Caller(principal)
        if principal.runs([.orders, .support]), !caller.roles.contains(adminsRole) { caller.roles.append(adminsRole) }
        return caller
    }
    return plan
}

package func buildBag(_ host: ServiceHost, _ routes: inout ServiceRoutes, _ currency: Currency) throws {
    let bag = BagFunctions(host: host, currency: currency.code)
    routes.readingFunction("bag") { try bag.view($1, $2) }
    routes.readingFunction("addToBag") { try bag.add($0, $1, $2) }
    routes.readingFunction("setBagQuantity") { try bag.setQuantity($0, $1, $2) }
    routes.readingFunction("emptyBag") { try bag.empty($1, $2) }

    let isShared = host.writers == .every
    // Of several processes each notes its own.
    let mark = isShared ? "bag.numbers.\(host.configuration.replica)" : "bag.numbers"
    let numbers = OrderNumberGate(
        mark: OrderNumberMark(path: "\(host.configuration.dataDirectory)/\(mark)"), logger: host.logger)
    host.whenWriting(
        "orders.numbers", every: OrderNumberGate.pause, problem: "Order numbers could not be agreed upon."
    ) {
        await numbers.open(host) ? .finished : .idle
    }
    let turns = isShared ? CheckoutTurns() : nil
    let ledger = CheckoutLedger(
        store: host.store, outbox: host.outbox, numbers: numbers,
        copies: try OrderCopies(host.configuration.settings), turns: turns)
    let runner = CheckoutRunner(
        ledger: ledger, steps: CheckoutSteps(bus: host.bus), background: host.background, logger: host.logger)
    let checkout = CheckoutFunctions(
        host: host, ledger: ledger, runner: runner, chargeAnswer: try ChargeAnswer(host.configuration.settings))
    routes.readingFunction("checkout") { try checkout.checkout($0, $1, $2) }
    routes.readingFunction("chargeCustomer") { parameters, request, reader in
        try checkout.charge(request, reader) { try CheckoutRequest(chargeCustomer: parameters) }
    }
    // Apps differ in the first letter.
    for name in ["ChargeToken", "chargeToken"] {
        routes.readingFunction(name) { parameters, request, reader in
            try checkout.charge(request, reader) { try CheckoutRequest(chargeToken: parameters) }
        }
    }
    host.whenWriter(
        "checkouts", every: turns?.length ?? .seconds(1), problem: "Unfinished checkouts could not be read."
    ) {
        try await runner.resumeUnfinished()
        return isShared ? .idle : .finished
    }

    // They are kept for a day, so that a minute more does not matter.
    host.whenWriter("checkouts.keys", every: .seconds(60), problem: "Old keys of requests could not be removed.") {
        try await host.store.write { try CheckoutLedger.forgetRequestKeys(in: $0) } ? .more : .idle
    }

    let contacts = CustomerContacts(host: host)
    let refunds = RefundRunner(
        ledger: RefundLedger(store: host.store, outbox: host.outbox, currency: currency),
        steps: RefundSteps(bus: host.bus),
        background: host.background, logger: host.logger, contact: { await contacts.contact(of: $0) })
    OrderFunctions(
        host: host, ledger: OrderLedger(store: host.store, outbox: host.outbox, currency: currency), runner: refunds,
        contacts: contacts
    ).install(in: &routes)
    OrderNoteFunctions(host: host, contacts: contacts).install(in: &routes)
    host.whenWriter("refunds", every: .seconds(1), problem: "Unfinished refunds could not be read.") {
        try await refunds.resumeUnfinished()
        return .finished
    }

    let merges = BagMerges(host: host, currency: currency.code)
    routes.task(framed: BagCalls.merge) { try await merges.merge($0, $1) }
    routes.accept(NewsCalls(to: "bag").userDeleted) { message, _, transaction in
        try AccountDeletion.forget(message.userID, in: transaction)
    }
}
