import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The cloud functions of the shop and its customers for placed orders. Each is idempotent.
struct OrderFunctions: Sendable {
    let host: ServiceHost
    let ledger: OrderLedger
    let checkouts: CheckoutLedger
    let runner: RefundRunner
    let contacts: CustomerContacts

    /// The gateway times out after 30 s. A refund that takes longer than this limit is reported as pending.
    private static let waitMax = Duration.seconds(10)
    private static let reasonBytesMax = 500
    /// How long `adoptCharge` may take: the provider's timeout, and some more.
    private static let adoptMax = Duration.seconds(12)

    func install(in routes: inout ServiceRoutes) {
        routes.function("shipOrder") { parameters, request in
            try request.requireArea(.orders)
            return try await perform(.init(.ship(try Shipment(parameters)), by: nil), parameters, request)
        }
        routes.function("correctTracking") { parameters, request in
            try request.requireArea(.orders)
            let shipment = try Shipment(parameters)
            guard shipment != Shipment() else {
                throw ParseError(.validationError, "Name a carrier, trackingNumber or trackingUrl.")
            }
            return try await perform(.init(.correctTracking(shipment), by: nil), parameters, request)
        }
        routes.function("deliverOrder") { parameters, request in
            try request.requireArea(.orders)
            return try await perform(.init(.deliver, by: nil), parameters, request)
        }
        routes.function("cancelOrder") { parameters, request in
            let customerId = request.envelope.principal.runs([.orders]) ? nil : try request.userId
            if customerId == nil, try Self.flag(parameters, "freeBag") {
                guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
                return try .result(
                    try await checkouts.free(
                        Self.orderId(parameters), reason: Self.reason(parameters), by: AuditOrigin(request),
                        for: request.share))
            }
            let stepRequest = OrderLedger.StepRequest(.cancel, by: customerId, reason: try Self.reason(parameters))
            return try await perform(stepRequest, parameters, request)
        }
        routes.function("refundOrder") { parameters, request in
            try request.requireArea(.orders)
            var stepRequest = OrderLedger.StepRequest(
                .refund(try Self.amount(parameters)), by: nil, reason: try Self.reason(parameters),
                restock: try Self.flag(parameters, "restock"))
            stepRequest.lines = try RefundLines(parameters["lines"])
            stepRequest.keys = try Self.keys(parameters, request)
            return try await perform(stepRequest, parameters, request)
        }
        routes.function("orderRefunds") { parameters, request in
            let isDesk = request.envelope.principal.runs([.orders, .support])
            if !isDesk { try await requireCustomer(parameters, request) }
            let refunds = try await runner.ledger.list(Self.orderId(parameters), for: request.share)
            return try .result(isDesk ? refunds : Self.forCustomer(refunds))
        }
        routes.function("orders") { parameters, request in
            try request.requireArea(.orders, .support)
            let list = try OrderList(parameters)
            let page = try await host.store.read(for: request.share) { reader in
                try reader.onOneSnapshot { try list.read(in: reader) }
            }
            let customers = Set(page.orders.compactMap { $0["customer"]?.pointerTarget?.objectId })
            let known = try await contacts.contacts(of: customers, for: request)
            return try .result(OrderList.json(page, contacts: known))
        }
    }

    /// - Throws: `.operationForbidden` (119) unless the caller placed the order, and for an order that does not exist.
    private func requireCustomer(_ parameters: JSON, _ request: ServiceRequest) async throws {
        do {
            _ = try await ledger.customer(
                Self.orderId(parameters), for: request.userId, share: request.share)
        } catch let error as ParseError where error.code != .serviceUnavailable {
            try request.requireArea(.orders, .support)
        }
    }

    private static let customerFields: Set<String> = ["purpose", "amount", "state", "lines", "createdAt"]

    /// Refunds without the fields for operators.
    private static func forCustomer(_ refunds: JSON) -> JSON {
        .array(
            (refunds.arrayValue ?? []).map { refund in
                .object((refund.objectValue ?? [:]).filter { customerFields.contains($0.key) })
            })
    }

    private func perform(
        _ stepRequest: OrderLedger.StepRequest, _ parameters: JSON, _ request: ServiceRequest
    ) async throws -> BusReply {
        guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
        let orderId = try Self.orderId(parameters)
        var stepRequest = stepRequest
        if stepRequest.customerId == nil {
            stepRequest.origin = AuditOrigin(request)
            switch stepRequest.step {
            case .refund, .cancel:
                stepRequest.madeBy = await contacts.name(of: request.envelope.principal.userID, for: request)
            default: break
            }
        }
        let share = request.share
        let customer = try await ledger.customer(orderId, for: stepRequest.customerId, share: share)
        let contact = await contacts.contact(of: customer, for: request)
        if let chargeId = try await ledger.foreignCharge(orderId, for: stepRequest, share: share) {
            stepRequest.foreign = try await foreignPayment(chargeId, of: orderId, for: request)
        }
        switch try await ledger.perform(stepRequest, orderId, contact: contact, for: share) {
        case .done(var answer):
            if case .refund = stepRequest.step { answer["refundedNow"] = 0 }
            return try .result(answer)
        case .waits(let refundId):
            if case .refused(let error)? = await runner.outcome(of: refundId, within: Self.waitMax) {
                throw ParseError(.validationError, "The refund was refused: \(error.message)")
            }
            guard case .refund = stepRequest.step else {
                return try .result(try await ledger.answer(orderId, for: share))
            }
            return try .result(try await ledger.answer(orderId, refund: refundId, for: share))
        }
    }

    /// Asks payments for a charge that was made outside Satchel.
    /// - Throws: `.validationError` (142) when the shop's provider has no such charge.
    private func foreignPayment(
        _ chargeId: String, of orderId: String, for origin: ServiceRequest
    ) async throws -> ForeignPayment {
        let name = "adoptCharge"
        var request = try BusRequest(
            ObjectCalls(of: "payments").function(name), FunctionRequest.with { $0.name = name },
            for: origin, timeout: Self.adoptMax)
        request.principal = .satchel
        request.writes = true
        request.documents = [(["orderId": .string(orderId), "chargeId": .string(chargeId)] as JSON).serialized]
        let found: JSON
        do {
            found = try JSON(parsing: try await host.bus.call(request).documents.first ?? [])
        } catch let failure as BusFailure {
            throw ParseError(failure)
        }
        guard let operationId = found["operationId"]?.stringValue, let charged = found["amount"]?.intValue,
            let refunded = found["refundedAmount"]?.intValue, let currency = found["currency"]?.stringValue
        else { throw ParseError.internalError }
        return ForeignPayment(operationId: operationId, charged: charged, refunded: refunded, currency: currency)
    }

    // MARK: Parameters

    /// The parameter `orderId`.
    /// - Throws: `.validationError` (142) when it is absent, `.objectNotFound` (101) when it is not a valid id.
    static func orderId(_ parameters: JSON) throws -> String {
        guard let id = parameters["orderId"]?.stringValue else {
            throw ParseError(.validationError, "orderId is missing or not a string.")
        }
        guard Names.isObjectId(id) else { throw ParseError.objectNotFound }
        return id
    }

    private static func reason(_ parameters: JSON) throws -> String {
        try PlainText.optional(parameters["reason"], "reason", bytesMax: reasonBytesMax)
    }

    private static func amount(_ parameters: JSON) throws -> Int64? {
        guard let value = parameters["amount"], !value.isNull else { return nil }
        guard let amount = value.intValue, amount >= 1 else {
            throw ParseError(.validationError, "amount must be a whole number of minor units from 1.")
        }
        return amount
    }

    /// The operator's key and the request's own key, which the gateway reuses when it retries after a process died.
    private static func keys(_ parameters: JSON, _ request: ServiceRequest) throws -> [String] {
        let ofClient = try CheckoutRequest.text(parameters, "idempotencyKey")
        let ofRequest = request.envelope.idempotencyKey
        return [ofClient.map { "client:\($0)" }, ofRequest.isEmpty ? nil : "request:\(ofRequest)"].compactMap(\.self)
    }

    private static func flag(_ parameters: JSON, _ name: String) throws -> Bool {
        guard let value = parameters[name], !value.isNull else { return false }
        guard let flag = value.boolValue else { throw ParseError(.validationError, "\(name) must be true or false.") }
        return flag
    }
}
