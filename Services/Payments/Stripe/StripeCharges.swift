import ObjectStore
import ParseProtocol

/// Charges with the older API: one request, which is idempotent by its key for 24 hours. A retry therefore first
/// searches the charges made since for Satchel's operation id.
struct StripeCharges: Sendable {
    let client: StripeClient
    let operations: StripeOperations

    /// How long a sent request may still charge the customer, with a margin.
    private static let inFlightMax = Duration.seconds(600)
    /// Maximum difference between the host's clock and Stripe's.
    private static let clockSlack: Int64 = 300
    /// Pages of 100 charges. A shop of the size that this service supports makes fewer during the life of an operation.
    private static let pagesMax = 100

    func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge {
        let amount = try StripeAmount(minorUnits: order.amountMinorUnits, currency: order.currency)
        let before = try await operations.find(key, for: share)
        if before?.isAbandoned == true { throw ProviderFailure.abandoned }
        if before != nil, let made = try await look(for: key, order) { return made }
        guard try await !operations.begin(key, for: share).isAbandoned else { throw ProviderFailure.abandoned }
        var form: StripeForm = ["amount": String(amount.amount), "currency": amount.currency]
        switch order.source {
        case .customer(let id): form.add("customer", id)
        case .token(let id): form.add("source", id)
        }
        form.add("metadata[order_id]", order.orderId)
        form.add("metadata[operation_id]", key)
        do {
            let made = try await client.ask(
                .post, "/v1/charges", form, key: key, object: "charge", isRefusal: \.isRefusal)
            return try Self.read(made, for: order)
        } catch let trouble as StripeTrouble {
            guard case .fault(let error) = trouble.reason else { throw trouble }
            try await operations.refused(key, for: share)
            if let refusal = error.refusal { throw refusal }
            throw trouble
        }
    }

    /// A request in flight cannot be stopped, so only time proves that a charge was never made. If Stripe refused every
    /// request, none is in flight.
    func find(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge? {
        let known = try await operations.find(key, for: share)
        if known?.isAbandoned == true { return nil }
        if let known, known.unanswered > 0 {
            if let made = try await look(for: key, order) { return made }
            // The clock was set back since: the wait starts again.
            if known.askedAt > .now { _ = try await operations.begin(key, for: share) }
            guard known.askedAt.advanced(by: Self.inFlightMax) < .now else {
                throw StripeTrouble(.state("perhaps still on its way to Stripe"))
            }
        }
        guard try await operations.abandon(key, asOf: known, for: share) else {
            throw StripeTrouble(.state("just beginning"))
        }
        return nil
    }

    private func look(for key: String, _ order: ChargeOrder) async throws -> ProviderCharge? {
        var last: String?
        for _ in 0..<Self.pagesMax {
            var form: StripeForm = [
                "limit": "100", "created[gt]": String(order.begunAt.milliseconds / 1000 - Self.clockSlack),
            ]
            if case .customer(let id) = order.source { form.add("customer", id) }
            form.add("starting_after", last)
            let list = try await client.ask(.get, "/v1/charges", form, object: "list")
            guard let page = list["data"]?.arrayValue else { throw StripeTrouble(.unreadable(status: 200)) }
            if let made = page.first(where: { $0["metadata"]?["operation_id"]?.stringValue == key }) {
                return try Self.read(made, for: order)
            }
            last = page.last?["id"]?.stringValue
            guard list["has_more"] == true, last != nil else { return nil }
        }
        throw StripeTrouble(.state("not found among the newest charges"))
    }

    private static func read(_ json: JSON, for order: ChargeOrder) throws -> ProviderCharge {
        guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue else {
            throw StripeTrouble(.unreadable(status: 200))
        }
        try StripeObject.compare(json, amount: order.amountMinorUnits, currency: order.currency)
        switch status {
        case "succeeded":
            return ProviderCharge(id: id, card: json["payment_method_details"]?["card"] ?? json["source"])
        case "failed":
            throw ProviderFailure(
                type: "card_error", code: json["failure_code"]?.stringValue ?? "card_declined",
                declineCode: json["outcome"]?["reason"]?.stringValue,
                message: json["failure_message"]?.stringValue ?? "Your card was declined.")
        default: throw StripeTrouble(.state(status))
        }
    }
}
