import ObjectStore
import ParseProtocol

/// Charges with payment intents, in two steps. First the intent is created, which moves no money, and its id is stored.
/// Then it is confirmed, which can charge the customer at most once, however often it is requested. When in doubt, the
/// intent itself shows its state, so nothing depends on how long Stripe remembers an idempotency key (24 hours).
struct StripeIntents: Sendable {
    let client: StripeClient
    let operations: StripeOperations
    let customers: StripeCustomers

    func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge {
        let operation: StripeOperations.Operation
        if let known = try await operations.find(key, for: share) {
            operation = known
        } else {
            operation = try await operations.keep(key, intentId: create(order, key: key), for: share)
            if let intentId = operation.intentId, !operation.isAbandoned {
                return try await confirm(intentId, order, operation, share)
            }
        }
        guard let intentId = operation.intentId, !operation.isAbandoned else { throw ProviderFailure.abandoned }
        return try await settle(intentId, order, operation, share)
    }

    func find(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge? {
        let known = try await operations.find(key, for: share)
        guard let known, let intentId = known.intentId else {
            // An intent that is being created now, or whose answer was lost, moves no money. It is never confirmed,
            // because its operation is abandoned first.
            if known?.isAbandoned == true { return nil }
            guard try await operations.abandon(key, asOf: known, for: share) else {
                throw StripeTrouble(.state("just beginning"))
            }
            return nil
        }
        let intent = try await retrieve(intentId, order)
        switch intent.decision {
        case .succeeded(let charge): return charge
        case .declined(let failure): throw failure
        case .cancelled: return try Self.cancelled(known)
        case .confirm, .cancel, .act, .wait:
            // A cancelled intent can no longer charge the customer: Stripe refuses a later confirmation. Until Stripe
            // has cancelled it, nothing is decided.
            try await cancel(intentId, order, known)
            return nil
        }
    }

    /// An intent that was cancelled because the bank required authentication counts as a decline, also when the charge
    /// is only looked up.
    private static func cancelled(_ operation: StripeOperations.Operation) throws -> ProviderCharge? {
        if let failure = operation.failure { throw failure }
        return nil
    }

    // MARK: - Steps

    private func create(_ order: ChargeOrder, key: String) async throws -> String {
        let amount = try StripeAmount(minorUnits: order.amountMinorUnits, currency: order.currency)
        var form: StripeForm = [
            "amount": String(amount.amount), "currency": amount.currency, "payment_method_types[]": "card",
        ]
        switch order.source {
        case .customer(let id):
            form.add("customer", id)
            form.add("payment_method", try await customers.paymentMethod(of: id))
        case .token(let id) where id.hasPrefix("pm_"): form.add("payment_method", id)
        case .token(let id):
            form.add("payment_method_data[type]", "card")
            form.add("payment_method_data[card][token]", id)
        }
        form.add("metadata[order_id]", order.orderId)
        form.add("metadata[operation_id]", key)
        do {
            let answer = try await ask("/v1/payment_intents", form, key: "\(key):create")
            return try StripeIntent(answer, for: order).id
        } catch let trouble as StripeTrouble {
            if case .fault(let error) = trouble.reason, let refusal = error.refusal { throw refusal }
            throw trouble
        }
    }

    private func confirm(
        _ intentId: String, _ order: ChargeOrder, _ operation: StripeOperations.Operation, _ share: WorkShare?
    ) async throws -> ProviderCharge {
        var form: StripeForm = ["expand[]": "latest_charge"]
        // Stripe's script or SDK at the client shows the bank's page.
        if order.allowsAction { form.add("use_stripe_sdk", "true") }
        let answer: JSON
        do {
            answer = try await ask(
                "/v1/payment_intents/\(StripeForm.escaped(intentId))/confirm", form, key: "\(operation.key):confirm")
        } catch let trouble as StripeTrouble {
            // The customer's card or token is gone or used up. The intent is cancelled first, so that it can never
            // charge the customer.
            guard case .fault(let error) = trouble.reason, let refusal = error.refusal else { throw trouble }
            try await operations.note(operation.key, refusal, for: share)
            try await cancel(intentId, order, operation)
            throw refusal
        }
        return try await conclude(try StripeIntent(answer, for: order), order, operation, share, mayConfirm: false)
    }

    /// Continues with an intent of which only the id is known.
    private func settle(
        _ intentId: String, _ order: ChargeOrder, _ operation: StripeOperations.Operation, _ share: WorkShare?
    ) async throws -> ProviderCharge {
        try await conclude(try await retrieve(intentId, order), order, operation, share, mayConfirm: true)
    }

    private func conclude(
        _ intent: StripeIntent, _ order: ChargeOrder, _ operation: StripeOperations.Operation, _ share: WorkShare?,
        mayConfirm: Bool
    ) async throws -> ProviderCharge {
        switch intent.decision {
        case .succeeded(let charge): return charge
        case .declined(let failure): throw failure
        case .cancelled: throw operation.failure ?? .abandoned
        case .confirm where mayConfirm: return try await confirm(intent.id, order, operation, share)
        case .cancel(let failure):
            try await operations.note(operation.key, failure, for: share)
            try await cancel(intent.id, order, operation)
            throw failure
        case .act(let clientSecret): throw ActionRequired(clientSecret: clientSecret)
        case .confirm, .wait: throw StripeTrouble(.state(intent.status))
        }
    }

    private func cancel(
        _ intentId: String, _ order: ChargeOrder, _ operation: StripeOperations.Operation
    ) async throws {
        // A new key each time: Stripe repeats a refusal under the same key for a day, and the intent's state may change
        // meanwhile.
        let answer = try await ask(
            "/v1/payment_intents/\(StripeForm.escaped(intentId))/cancel", [:],
            key: "\(operation.key):cancel:\(Names.random(8))")
        let intent = try StripeIntent(answer, for: order)
        guard intent.decision == .cancelled else { throw StripeTrouble(.state(intent.status)) }
    }

    private func retrieve(_ intentId: String, _ order: ChargeOrder) async throws -> StripeIntent {
        try StripeIntent(
            try await client.ask(
                .get, "/v1/payment_intents/\(StripeForm.escaped(intentId))", ["expand[]": "latest_charge"],
                object: "payment_intent"), for: order)
    }

    /// Stripe repeats even its own faults under the same key for a day. Then the step is sent under another key. This
    /// is safe, because an intent can charge the customer only once.
    private func ask(_ path: String, _ form: StripeForm, key: String) async throws -> JSON {
        do {
            return try await client.ask(
                .post, path, form, key: key, object: "payment_intent", isRefusal: \.isRefusal)
        } catch let trouble as StripeTrouble {
            guard case .later(_, isReplayed: true) = trouble.reason else { throw trouble }
            return try await client.ask(
                .post, path, form, key: "\(key):\(Names.random(8))", object: "payment_intent",
                isRefusal: \.isRefusal)
        }
    }
}
