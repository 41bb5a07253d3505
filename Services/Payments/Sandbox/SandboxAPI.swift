import ObjectStore
import ParseProtocol

/// The sandbox for cloud code that uses hosted Parse's module for Stripe: customers with their card, charges and
/// refunds, in the same tables as the shop's own. It refuses all other Stripe requests.
package struct SandboxAPI: StripeAPI {
    private let store: ClassStore
    private let provider: SandboxProvider

    package init(store: ClassStore) {
        self.store = store
        provider = SandboxProvider(store: store)
    }

    package func answer(_ request: StripeRequest, key: String, for share: WorkShare?) async throws -> StripeAnswer {
        do {
            return StripeAnswer(status: 200, body: try await object(request, key, share))
        } catch let failure as ProviderFailure {
            let isMissing = request.path.count > 1 && failure.code == "resource_missing"
            return StripeAnswer(failure, isMissing: isMissing)
        }
    }

    private func object(_ request: StripeRequest, _ key: String, _ share: WorkShare?) async throws -> JSON {
        let id = request.path.count > 1 ? request.path[1] : ""
        switch (request.method, request.route) {
        case (.post, "customers"): return try await createCustomer(request.form, key, share)
        case (.get, "customers/*"): return try await customer(id, share)
        case (.post, "customers/*"): return try await updateCustomer(id, request.form, share)
        case (.delete, "customers/*"): return try await deleteCustomer(id, share)
        case (.post, "charges"): return try await createCharge(request.form, key, share)
        case (.get, "charges/*"): return try await charge(id, share)
        case (.post, "charges/*/refund"): return try await refund(id, request.form, key, share)
        default:
            throw ProviderFailure.invalid(
                "not_in_sandbox", "The sandbox does not have \(request.method.rawValue) /v1/\(request.route).")
        }
    }

    // MARK: - Customers

    private func createCustomer(_ form: StripeForm, _ key: String, _ share: WorkShare?) async throws -> JSON {
        try form.allow(["source", "card", "email"])
        guard let token = form.token else { throw ProviderFailure.missing("source") }
        let made = try await provider.createCustomer(token: token, email: form["email"], key: key, for: share)
        return try await customer(made.id, share)
    }

    private func updateCustomer(_ id: String, _ form: StripeForm, _ share: WorkShare?) async throws -> JSON {
        try form.allow(["source", "card", "email"])
        if let token = form.token {
            guard let card = SandboxCard(token: token) else { throw ProviderFailure.noSuch("token", token) }
            if let decline = card.decline, card.isDeclinedOnAttach { throw decline }
        }
        let changed = try await store.write(for: share) {
            try $0.execute(
                """
                UPDATE sandboxCustomers SET token = COALESCE(?, token), email = COALESCE(?, email)
                WHERE customerId = ? AND deleted = 0
                """,
                [form.token.map(SQLValue.text) ?? .null, form["email"].map(SQLValue.text) ?? .null, .text(id)])
        }
        guard changed == 1 else { throw ProviderFailure.noSuch("customer", id) }
        return try await customer(id, share)
    }

    private func deleteCustomer(_ id: String, _ share: WorkShare?) async throws -> JSON {
        _ = try await customer(id, share)
        try await provider.deleteCustomer(id, for: share)
        return Self.deleted(id)
    }

    private func customer(_ id: String, _ share: WorkShare?) async throws -> JSON {
        let row = try await store.read(for: share) {
            try $0.rows("SELECT * FROM sandboxCustomers WHERE customerId = ?", [.text(id)]).first
        }
        guard let row else { throw ProviderFailure.noSuch("customer", id) }
        guard try row.int("deleted") == 0 else { return Self.deleted(id) }
        let card = try Self.card(token: row.text("token"), customer: id)
        return [
            "id": .string(id), "object": "customer", "livemode": false,
            "email": try row["email"].textValue.map(JSON.string) ?? .null, "default_source": card["id"] ?? .null,
            "sources": ["object": "list", "has_more": false, "total_count": 1, "data": [card]],
        ]
    }

    private static func deleted(_ id: String) -> JSON { ["id": .string(id), "object": "customer", "deleted": true] }

    private static func card(token: String, customer id: String) throws -> JSON {
        guard let card = SandboxCard(token: token)?.details(at: .now) else { throw ParseError.internalError }
        return [
            "id": .string("card_\(id.dropFirst("cus_".count))"), "object": "card", "customer": .string(id),
            "brand": .string(card.brand), "last4": .string(card.lastFourDigits),
            "exp_month": .int(Int64(card.expirationMonth)), "exp_year": .int(Int64(card.expirationYear)),
        ]
    }

    // MARK: - Charges

    private func createCharge(_ form: StripeForm, _ key: String, _ share: WorkShare?) async throws -> JSON {
        try form.allow(["amount", "currency", "customer", "source", "card"])
        guard let currency = form["currency"] else { throw ProviderFailure.missing("currency") }
        let source: ChargeOrder.Source
        switch (form["customer"], form.token) {
        case (let customer?, nil): source = .customer(customer)
        case (nil, let token?): source = .token(token)
        case (nil, nil): throw ProviderFailure.missing("source")
        default:
            throw ProviderFailure.invalid(
                "parameter_invalid", "The sandbox charges a customer's own card or a token, not both.")
        }
        let units = try StripeAmount.minorUnits(asked: try Self.amount(form), currency: currency)
        let order = ChargeOrder(
            source: source, amountMinorUnits: units, currency: currency.lowercased(), orderId: Self.noOrder)
        return try await charge(try await provider.charge(order, key: key, for: share).id, share)
    }

    /// A charge of cloud code belongs to no order.
    private static let noOrder = ""

    private static func amount(_ form: StripeForm) throws -> Int64 {
        guard let text = form["amount"] else { throw ProviderFailure.missing("amount") }
        guard let amount = Int64(text), amount > 0 else {
            throw ProviderFailure.invalid("parameter_invalid_integer", "The amount must be a whole number from 1.")
        }
        return amount
    }

    private func charge(_ id: String, _ share: WorkShare?) async throws -> JSON {
        let found = try await store.read(for: share) { store -> (row: SQLRow, back: Int64) in
            let made = "SELECT * FROM sandboxCharges WHERE chargeId = ? AND failure IS NULL"
            guard let row = try store.rows(made, [.text(id)]).first else { throw ProviderFailure.noSuch("charge", id) }
            return (row, try Self.refunded(of: id, except: "", in: store))
        }
        let (row, currency) = (found.row, try found.row.text("currency"))
        let amount = try row.int("amount")
        let customer = try ChargeOrder.Source(stored: row.text("source")).customerId
        let card: JSON = [
            "object": "card", "brand": .string(try row.text("brand")), "last4": .string(try row.text("lastFour")),
        ]
        return [
            "id": .string(id), "object": "charge", "livemode": false, "currency": .string(currency),
            "amount": .int(try StripeAmount(minorUnits: amount, currency: currency).amount),
            "amount_refunded": .int(try StripeAmount(minorUnits: found.back, currency: currency).amount),
            "status": "succeeded", "paid": true, "captured": true, "refunded": .bool(found.back == amount),
            "created": .int(try row.int("createdAt") / 1000), "customer": customer.map(JSON.string) ?? .null,
            // The field names of newer and older API versions.
            "source": card, "card": card,
        ]
    }

    /// - Parameter key: of a refund to exclude.
    private static func refunded(of id: String, except key: String, in store: ObjectReader) throws -> Int64 {
        try store.rows(
            "SELECT COALESCE(SUM(amount), 0) FROM sandboxRefunds WHERE chargeId = ? AND key <> ?",
            [.text(id), .text(key)]
        ).first?.int(0) ?? 0
    }

    private func refund(
        _ id: String, _ form: StripeForm, _ key: String, _ share: WorkShare?
    ) async throws -> JSON {
        try form.allow(["amount", "reason"])
        let (currency, left) = try await store.read(for: share) { store -> (String, Int64) in
            let made = "SELECT amount, currency FROM sandboxCharges WHERE chargeId = ? AND failure IS NULL"
            guard let row = try store.rows(made, [.text(id)]).first else { throw ProviderFailure.noSuch("charge", id) }
            // A retry asks for the same amount again, so this key's own refund is excluded.
            return try (row.text("currency"), row.int("amount") - Self.refunded(of: id, except: key, in: store))
        }
        var amount = left
        if form["amount"] != nil {
            amount = try StripeAmount.minorUnits(asked: try Self.amount(form), currency: currency)
        }
        guard left > 0 else { throw ProviderFailure.alreadyRefunded }
        let order = RefundOrder(
            chargeId: id, amountMinorUnits: amount, currency: currency, orderId: Self.noOrder, begunAt: .now)
        _ = try await provider.refund(order, key: key, for: share)
        return try await charge(id, share)
    }
}

extension StripeForm {
    /// The source of a new card, under the newer or the older parameter name.
    fileprivate var token: String? { self["source"] ?? self["card"] }

    /// Parameters that do not affect the charge: the sandbox accepts and ignores them.
    private static let notes: Set<String> = ["description", "receipt_email", "statement_descriptor"]

    /// - Throws: `ProviderFailure` for a parameter that the sandbox does not support, instead of ignoring it.
    fileprivate func allow(_ known: Set<String>) throws {
        let stranger = names.first {
            !known.contains($0) && !Self.notes.contains($0) && !$0.hasPrefix("metadata[")
        }
        if let stranger {
            throw ProviderFailure.invalid(
                "parameter_unknown", "The sandbox does not have the parameter \(stranger.prefix(100)).")
        }
    }
}

extension ProviderFailure {
    fileprivate static func invalid(_ code: String, _ message: String) -> ProviderFailure {
        ProviderFailure(type: "invalid_request_error", code: code, message: message)
    }

    fileprivate static func missing(_ parameter: String) -> ProviderFailure {
        invalid("parameter_missing", "Missing required param: \(parameter).")
    }
}

extension ChargeOrder.Source {
    fileprivate var customerId: String? { if case .customer(let id) = self { id } else { nil } }
}
