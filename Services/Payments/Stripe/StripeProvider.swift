import Logging
import ObjectStore
import ParseProtocol

/// Stripe over its REST API. Stripe's decisions are final. While the outcome is unknown, retries cannot move money
/// twice.
package struct StripeProvider: PaymentProvider {
    private let client: StripeClient
    private let api: StripeConfiguration.API
    private let operations: StripeOperations
    private let customers: StripeCustomers
    private let intents: StripeIntents
    private let charges: StripeCharges

    package init(api: StripeConfiguration.API, client: StripeClient, store: ClassStore) {
        operations = StripeOperations(store: store)
        self.client = client
        self.api = api
        customers = StripeCustomers(client: client)
        intents = StripeIntents(client: client, operations: operations, customers: customers)
        charges = StripeCharges(client: client, operations: operations)
    }

    package func createCustomer(
        token: String, email: String?, key: String, for _: WorkShare?
    ) async throws -> ProviderCustomer {
        try await customers.create(token: token, email: email, key: key)
    }

    package func deleteCustomer(_ id: String, for _: WorkShare?) async throws { try await customers.delete(id) }

    package func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge {
        switch try await api(of: key, share) {
        case .paymentIntents: try await intents.charge(order, key: key, for: share)
        case .charges: try await charges.charge(order, key: key, for: share)
        }
    }

    package func findCharge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge? {
        switch try await api(of: key, share) {
        case .paymentIntents: try await intents.find(order, key: key, for: share)
        case .charges: try await charges.find(order, key: key, for: share)
        }
    }

    /// An operation continues with the API with which it began, whatever the current setting is.
    private func api(of key: String, _ share: WorkShare?) async throws -> StripeConfiguration.API {
        guard let known = try await operations.find(key, for: share), !known.isAbandoned else { return api }
        return known.intentId == nil ? .charges : .paymentIntents
    }

    /// - Parameter id: `ch_…` or `pi_…`, letters, digits and `_` only.
    package func foreignCharge(_ id: String, for _: WorkShare?) async throws -> ForeignCharge? {
        let charge: JSON?
        do {
            charge =
                id.hasPrefix("pi_")
                ? try await client.ask(
                    .get, "/v1/payment_intents/\(id)", ["expand[]": "latest_charge"], object: "payment_intent",
                    isRefusal: \.isMissing)["latest_charge"]
                : try await client.ask(.get, "/v1/charges/\(id)", object: "charge", isRefusal: \.isMissing)
        } catch let trouble as StripeTrouble {
            if case .fault(let error) = trouble.reason, error.isMissing { return nil }
            throw trouble
        }
        return charge.flatMap(ForeignCharge.init(stripe:))
    }

    // MARK: - Refunds

    /// A retry after this time first looks for the refund, because Stripe forgets keys after a day.
    private static let lookAfter = Duration.seconds(10)
    private static let refundsMax = "100"

    package func refund(_ order: RefundOrder, key: String, for _: WorkShare?) async throws -> ProviderRefund {
        let amount = try StripeAmount(minorUnits: order.amountMinorUnits, currency: order.currency)
        // A time in the future was written before the clock was set back.
        if order.begunAt.advanced(by: Self.lookAfter) < .now || order.begunAt > .now {
            let made = try await refunds(of: order).first { $0["metadata"]?["operation_id"]?.stringValue == key }
            if let made { return try Self.read(made, for: order) }
        }
        var form: StripeForm = [:]
        form.add(Self.parameter(order), order.chargeId)
        form.add("amount", String(amount.amount))
        form.add("metadata[order_id]", order.orderId)
        form.add("metadata[operation_id]", key)
        do {
            let made = try await client.ask(
                .post, "/v1/refunds", form, key: "\(key):refund", object: "refund", isRefusal: Self.isRefusal)
            return try Self.read(made, for: order)
        } catch let trouble as StripeTrouble {
            guard case .fault(let error) = trouble.reason, Self.isRefusal(error) else { throw trouble }
            if error.code == "charge_already_refunded", try await !isRefunded(order) {
                throw ProviderFailure(
                    type: "invalid_request_error", code: "charge_not_refunded",
                    message: """
                        Stripe counts the charge as refunded, but the refunds that succeeded are less than the charge. \
                        Look at it in Stripe; if the customer has the money, drop this refund.
                        """)
            }
            throw error.failure
        }
    }

    /// Whether Stripe permanently refuses a refund.
    private static func isRefusal(_ error: StripeError) -> Bool {
        ["charge_already_refunded", "charge_disputed", "refund_disputed_payment"].contains(error.code)
            || error.parameter == "amount"
    }

    /// Whether the refunds that succeeded are the whole charge: Stripe may count one that failed.
    private func isRefunded(_ order: RefundOrder) async throws -> Bool {
        guard let charge = try await foreignCharge(order.chargeId, for: nil) else { return false }
        let refunded = try await refunds(of: order).reduce(Int64(0)) { sum, refund in
            guard ["succeeded", "pending"].contains(refund["status"]?.stringValue) else { return sum }
            return sum.addingReportingOverflow(refund["amount"]?.intValue ?? 0).partialValue
        }
        return StripeAmount.minorUnits(refunded, currency: order.currency) >= charge.amountMinorUnits
    }

    /// The newest refunds of the charge, by anyone.
    private func refunds(of order: RefundOrder) async throws -> [JSON] {
        let form: StripeForm = [Self.parameter(order): order.chargeId, "limit": Self.refundsMax]
        return try await client.ask(.get, "/v1/refunds", form, object: "list")["data"]?.arrayValue ?? []
    }

    private static func parameter(_ order: RefundOrder) -> String {
        order.chargeId.hasPrefix("pi_") ? "payment_intent" : "charge"
    }

    private static func read(_ json: JSON, for order: RefundOrder) throws -> ProviderRefund {
        guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue else {
            throw StripeTrouble(.unreadable(status: 200))
        }
        try StripeObject.compare(json, amount: order.amountMinorUnits, currency: order.currency)
        switch status {
        // Pending: Stripe has accepted it, and the bank is slow.
        case "succeeded", "pending": return ProviderRefund(id: id)
        case _ where ProviderFailure.refundFailures.contains(status):
            throw ProviderFailure(refund: status, reason: json["failure_reason"]?.stringValue ?? "")
        default: throw StripeTrouble(.state(status))
        }
    }
}

extension ForeignCharge {
    /// Nil for a charge that did not succeed.
    init?(stripe charge: JSON) {
        guard charge["status"]?.stringValue == "succeeded",
            let amount = (charge["amount_captured"] ?? charge["amount"])?.intValue,
            let refunded = charge["amount_refunded"]?.intValue,
            let currency = charge["currency"]?.stringValue?.lowercased()
        else { return nil }
        self.init(
            amountMinorUnits: StripeAmount.minorUnits(amount, currency: currency),
            refundedMinorUnits: StripeAmount.minorUnits(refunded, currency: currency), currency: currency)
    }
}
