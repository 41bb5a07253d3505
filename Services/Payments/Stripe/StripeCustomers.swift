import ParseProtocol

/// Customers at Stripe, each with one card.
struct StripeCustomers: Sendable {
    let client: StripeClient

    func create(token: String, email: String?, key: String) async throws -> ProviderCustomer {
        var form: StripeForm = [:]
        form.add("email", email)
        if token.hasPrefix("pm_") {
            form.add("payment_method", token)
            form.add("invoice_settings[default_payment_method]", token)
            form.add("expand[]", "invoice_settings.default_payment_method")
        } else {
            form.add("source", token)
            form.add("expand[]", "default_source")
        }
        do {
            return try ProviderCustomer(
                try await client.ask(
                    .post, "/v1/customers", form, key: key, object: "customer", isRefusal: \.isRefusal))
        } catch let trouble as StripeTrouble {
            if case .fault(let error) = trouble.reason, let refusal = error.refusal { throw refusal }
            throw trouble
        }
    }

    /// Succeeds when the customer is already deleted.
    func delete(_ id: String) async throws {
        do {
            _ = try await client.ask(
                .delete, "/v1/customers/\(StripeForm.escaped(id))", object: "customer", isRefusal: \.isMissing)
        } catch let trouble as StripeTrouble {
            guard case .fault(let error) = trouble.reason, error.isMissing else { throw trouble }
        }
    }

    /// The payment method of a customer to charge: the default, or else any card. Stripe is asked instead of the local
    /// tables, because customers may come from another shop system.
    /// - Throws: `ProviderFailure` when the customer or the card no longer exists.
    func paymentMethod(of id: String) async throws -> String {
        let customer: JSON
        do {
            customer = try await client.ask(
                .get, "/v1/customers/\(StripeForm.escaped(id))", object: "customer", isRefusal: \.isMissing)
        } catch let trouble as StripeTrouble {
            guard case .fault(let error) = trouble.reason, error.isMissing else { throw trouble }
            throw ProviderFailure.noSuch("customer", id)
        }
        if customer["deleted"] == true { throw ProviderFailure.noSuch("customer", id) }
        if let method = Self.id(customer["invoice_settings"]?["default_payment_method"])
            ?? Self.id(customer["default_source"])
        {
            return method
        }
        let list = try await client.ask(
            .get, "/v1/payment_methods", ["customer": id, "type": "card", "limit": "1"], object: "list")
        guard let method = Self.id(list["data"]?.arrayValue?.first) else {
            throw ProviderFailure.noSuch("payment method of customer", id)
        }
        return method
    }

    /// The id of an expanded or unexpanded object.
    private static func id(_ json: JSON?) -> String? { json?.stringValue ?? json?["id"]?.stringValue }
}
