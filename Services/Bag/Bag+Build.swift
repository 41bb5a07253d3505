import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Classes, rules and tables of the bag service.
package func bagPlan(_ currency: Currency) -> ServicePlan {
    // The ACL makes objects private. Clients cannot add fields: the rules accept a fixed list of fields only.
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
                    "orderState": .string, "fulfillmentStatus": .string, "paymentStatus": .string, "shippedAt": .date,
                    "deliveredAt": .date, "cancelledAt": .date,
                    "refundedAt": .date,
                    "refundedTotal": .number, "refundState": .string, "carrier": .string, "trackingNumber": .string,
                    "trackingUrl": .string, "cancelReason": .string, "discountCode": .string,
                    "discountMinorUnits": .number, "trackingCorrections": .array,
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
                    "unitPriceMinorUnits": .number, "discountMinorUnits": .number, "name": .string,
                ],
                indexes: [["customer"], ["product"]], permissions: permissions),
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
    // The order desk and support may read placed orders and their lines with the admins' read permissions.
    plan.readingCaller = { principal in
        var caller = Caller(principal)
        if principal.runs([.orders, .support]), !caller.roles.contains(adminsRole) { caller.roles.append(adminsRole) }
        return caller
    }
    return plan
}

/// - Parameter keepsMark: whether a file beside the database marks the highest order number.
package func buildBag(
    _ host: ServiceHost, _ routes: inout ServiceRoutes, _ currency: Currency, keepsMark: Bool = true
) throws {
    let bag = BagFunctions(host: host, currency: currency.code)
    routes.readingFunction("bag") { try bag.view($1, $2) }
    routes.readingFunction("addToBag") { try bag.add($0, $1, $2) }
    routes.readingFunction("setBagQuantity") { try bag.setQuantity($0, $1, $2) }
    routes.readingFunction("emptyBag") { try bag.empty($1, $2) }
    routes.readingFunction("setDiscountCode") { try bag.setDiscountCode($0, $1, $2) }
    DiscountFunctions(host: host).install(in: &routes)

    let isShared = host.writers == .every
    // Where several processes write, each has its own mark file.
    let mark = isShared ? "bag.numbers.\(host.configuration.replica)" : "bag.numbers"
    let numbers =
        keepsMark
        ? OrderNumberGate(
            mark: OrderNumberMark(path: "\(host.configuration.dataDirectory)/\(mark)"), logger: host.logger) : nil
    if let numbers {
        host.whenWriting(
            "orders.numbers", every: OrderNumberGate.pause, problem: "The highest order number could not be determined."
        ) {
            await numbers.open(host) ? .finished : .idle
        }
    }
    let leases = isShared ? CheckoutLeases() : nil
    let ledger = CheckoutLedger(
        store: host.store, outbox: host.outbox, numbers: numbers,
        copies: try OrderCopies(host.configuration.settings), leases: leases,
        requiredAddress: try ShippingAddress.requiredMembers(host.configuration.settings))
    let runner = CheckoutRunner(
        ledger: ledger, steps: CheckoutSteps(bus: host.bus),
        undecidedMax: try CheckoutRunner.undecidedMax(host.configuration.settings), background: host.background,
        logger: host.logger)
    let checkout = CheckoutFunctions(
        host: host, ledger: ledger, runner: runner, chargeAnswer: try ChargeAnswer(host.configuration.settings))
    routes.readingFunction("checkout") { try checkout.checkout($0, $1, $2) }
    routes.readingFunction("checkoutResult") { try checkout.result($0, $1, $2) }
    routes.readingFunction("chargeCustomer") { parameters, request, reader in
        try checkout.charge(request, reader) { try CheckoutRequest(chargeCustomer: parameters) }
    }
    // Apps spell the first letter differently.
    for name in ["ChargeToken", "chargeToken"] {
        routes.readingFunction(name) { parameters, request, reader in
            try checkout.charge(request, reader) { try CheckoutRequest(chargeToken: parameters) }
        }
    }
    // A server may have committed what no process drives: the one that stored it died, or did not get the answer to its
    // commit and goes on.
    let comesLater = isShared || host.store.isServed
    let resumePause = leases?.length ?? .seconds(3)
    host.whenWriter("checkouts", every: resumePause, problem: "Unfinished checkouts could not be read.") {
        try await runner.resumeUnfinished()
        return comesLater ? .idle : .finished
    }

    host.whenWriter(
        "checkouts.actions", every: CheckoutRunner.roundPause, problem: "Unconfirmed checkouts could not be read."
    ) {
        try await runner.pollUnconfirmedCharges()
        return .idle
    }
    host.whenWriter("checkouts.keys", every: .seconds(60), problem: "Old keys of requests could not be removed.") {
        try await host.store.write(for: nil) { try CheckoutLedger.forgetRequestKeys(in: $0) } ? .more : .idle
    }

    let contacts = CustomerContacts(host: host)
    let refunds = RefundRunner(
        ledger: RefundLedger(store: host.store, outbox: host.outbox, currency: currency),
        steps: RefundSteps(bus: host.bus),
        background: host.background, logger: host.logger, contact: { await contacts.contact(of: $0, for: nil) })
    let orders = OrderLedger(store: host.store, outbox: host.outbox, currency: currency)
    OrderFunctions(host: host, ledger: orders, checkouts: ledger, runner: refunds, contacts: contacts)
        .install(in: &routes)
    routes.park(ParkedRefunds(orders: orders) { refunds.begin($0) }.kind)
    OrderNoteFunctions(host: host, contacts: contacts).install(in: &routes)
    let totals = CustomerTotals(currency: currency.code)
    CustomerFunctions(host: host, contacts: contacts, totals: totals).install(in: &routes)
    host.whenWriter(
        "customers", every: .seconds(1), problem: "The backfill of customer totals failed; it will be retried."
    ) {
        try await host.store.write(for: nil) { try totals.countNext(in: $0) } ? .more : .finished
    }
    host.whenWriter(
        "orders.entries", every: .seconds(1), problem: "The backfill of order entries failed; it will be retried."
    ) {
        try await host.store.write(for: nil) { try OrderEntries.addNext(in: $0) } ? .more : .finished
    }
    host.whenWriter("customers.contacts", every: .seconds(1), problem: "Addresses of customers could not be read.") {
        let lookups = try await host.store.read(for: nil) { try CustomerLookups.next(in: $0) }
        guard !lookups.isEmpty else { return .idle }
        let known = try await contacts.contacts(of: Set(lookups.keys), for: nil)
        try await host.store.write(for: nil) { try totals.complete(lookups, from: known, in: $0) }
        return lookups.count == CustomerLookups.pageRows ? .more : .idle
    }
    CustomerMailFunctions(host: host, contacts: contacts).install(in: &routes)
    SalesFunctions(
        host: host, currency: currency, zone: try ShopZone.ofShop(host.configuration.settings)
    ).install(in: &routes)
    routes.function("soldOrders") { parameters, request in
        try request.requireMaster()
        let (after, now) = (parameters["after"]?.stringValue ?? "", Timestamp.now)
        return try .result(
            await host.store.read(for: request.share) { try SoldOrders.page(after: after, at: now, in: $0) })
    }
    host.whenWriter("refunds", every: resumePause, problem: "Unfinished refunds could not be read.") {
        try await refunds.resumeUnfinished()
        return comesLater ? .idle : .finished
    }

    let mergeHandler = BagMergeHandler(host: host, currency: currency.code, runner: runner)
    routes.task(framed: BagCalls.merge) { try await mergeHandler.merge($0, $1) }
    routes.accept(BagCalls.beginDeletion) { message, _, transaction in
        try AccountDeletion.begin(message.userID, in: transaction)
    }
    routes.accept(BagCalls.productDeleted) { message, _, transaction in
        try OrderItemRules.keepName(message, in: transaction)
    }
    routes.accept(BagCalls.userChanged) { message, _, transaction in
        try CustomerTotals.accountChanged(message.userID, in: transaction)
    }
    routes.accept(BagCalls.refundFailed) { message, _, transaction in
        try refunds.ledger.reverse(message.operationID, message.problem, in: transaction)
    }
    routes.accept(NotificationCalls(to: "bag").userDeleted) { message, _, transaction in
        try AccountDeletion.forget(message.userID, in: transaction)
    }
}
