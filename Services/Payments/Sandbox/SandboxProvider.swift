import ObjectStore
import ParseProtocol

/// The embedded replacement for Stripe. Its tables are in the service's database, but the rest of the service never
/// reads them. They stand for the remote side and are written in separate transactions, so a crash can happen between
/// the two sides, as over a network.
package struct SandboxProvider: PaymentProvider {
    private let store: ClassStore

    package init(store: ClassStore) { self.store = store }

    package func createCustomer(
        token: String, email: String?, key: String, for share: WorkShare?
    ) async throws -> ProviderCustomer {
        let outcome = try await store.write(for: share) { transaction -> Result<ProviderCustomer, ProviderFailure> in
            guard let card = SandboxCard(token: token) else { return .failure(.noSuch("token", token)) }
            if let decline = card.decline, card.isDeclinedOnAttach { return .failure(decline) }
            let known = try transaction.rows(
                "SELECT customerId, token FROM sandboxCustomers WHERE key = ?", [.text(key)]
            ).first
            if let known {
                guard try known.text("token") == token else { return .failure(.keyReused) }
                return try .success(
                    ProviderCustomer(id: known.text("customerId"), card: card.details(at: transaction.now)))
            }
            let id = "cus_\(Names.random(14))"
            _ = try transaction.execute(
                "INSERT INTO sandboxCustomers(customerId, key, token, email) VALUES (?, ?, ?, ?)",
                [.text(id), .text(key), .text(token), email.map(SQLValue.text) ?? .null])
            return .success(ProviderCustomer(id: id, card: card.details(at: transaction.now)))
        }
        return try outcome.get()
    }

    package func deleteCustomer(_ id: String, for share: WorkShare?) async throws {
        _ = try await store.write(for: share) {
            try $0.execute("UPDATE sandboxCustomers SET deleted = 1, email = NULL WHERE customerId = ?", [.text(id)])
        }
    }

    package func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge {
        try await store.write(for: share) { transaction -> Result<ProviderCharge, any Error> in
            if let known = try transaction.rows("SELECT * FROM sandboxCharges WHERE key = ?", [.text(key)]).first {
                return try Self.replay(known, for: order)
            }
            let id = "ch_\(Names.random(24))"
            let outcome = try Self.decide(order, id, in: transaction)
            guard order.allowsAction, outcome == .failure(.authenticationRequired) else {
                try Self.keep(outcome, of: order, id: id, key: key, in: transaction)
                return outcome.mapError { $0 as any Error }
            }
            let secret = "\(id)_secret_\(Names.random(25))"
            try Self.keep(outcome, of: order, id: id, key: key, clientSecret: secret, in: transaction)
            return .failure(ActionRequired(clientSecret: secret))
        }.get()
    }

    /// What the bank's page does: confirms a charge, or refuses to.
    /// - Returns: false when no charge with this secret waits.
    package func act(_ clientSecret: String, confirms: Bool, for share: WorkShare?) async throws -> Bool {
        guard let end = clientSecret.firstRange(of: "_secret_") else { return false }
        return try await store.write(for: share) { transaction in
            let rows = try transaction.rows(
                "SELECT * FROM sandboxCharges WHERE chargeId = ? AND clientSecret = ?",
                [.text(String(clientSecret[..<end.lowerBound])), .text(clientSecret)])
            guard let row = rows.first else { return false }
            let card = try Self.card(ChargeOrder.Source(stored: row.text("source")), in: transaction)
            var (made, failure): (SandboxCard?, ProviderFailure?)
            switch card {
            case .success(let card):
                failure = confirms ? card.decline : ProviderFailure.authenticationFailed
                if failure == nil { made = card }
            case .failure(let refused): failure = refused
            }
            return try transaction.execute(
                """
                UPDATE sandboxCharges SET clientSecret = NULL, failure = ?, brand = ?, lastFour = ?
                WHERE key = ? AND clientSecret IS NOT NULL
                """,
                [
                    failure.map { .text($0.stored) } ?? .null, made.map { .text($0.brand) } ?? .null,
                    made.map { .text($0.lastFourDigits) } ?? .null, .text(row.text("key")),
                ]) == 1
        }
    }

    package func findCharge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge? {
        let outcome = try await store.write(for: share) { transaction -> Result<ProviderCharge, any Error> in
            if let known = try transaction.rows("SELECT * FROM sandboxCharges WHERE key = ?", [.text(key)]).first {
                // A charge that waits for its customer is cancelled.
                let cancelled = try transaction.execute(
                    """
                    UPDATE sandboxCharges SET clientSecret = NULL, failure = ?
                    WHERE key = ? AND clientSecret IS NOT NULL
                    """, [.text(ProviderFailure.abandoned.stored), .text(key)])
                guard cancelled == 0 else { return .failure(ProviderFailure.abandoned) }
                return try Self.replay(known, for: order)
            }
            // Marks the key as used, so that a charge that arrives later is refused.
            try Self.keep(
                .failure(.abandoned), of: order, id: "ch_\(Names.random(24))", key: key, in: transaction)
            return .failure(ProviderFailure.abandoned)
        }
        if case .failure(let failure as ProviderFailure) = outcome, failure == .abandoned { return nil }
        return try outcome.get()
    }

    private static func keep(
        _ outcome: Result<ProviderCharge, ProviderFailure>, of order: ChargeOrder, id: String, key: String,
        clientSecret: String? = nil, in transaction: StoreTransaction
    ) throws {
        var (charge, failure): (ProviderCharge?, ProviderFailure?)
        switch outcome {
        case .success(let made): charge = made
        case .failure(let refused): failure = refused
        }
        _ = try transaction.execute(
            """
            INSERT INTO sandboxCharges(key, chargeId, orderId, source, amount, currency, failure, brand, lastFour, \
            createdAt, clientSecret)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(key), .text(id), .text(order.orderId), .text(order.source.stored), .int(order.amountMinorUnits),
                .text(order.currency), failure.map { .text($0.stored) } ?? .null,
                charge.map { .text($0.brand) } ?? .null, charge.map { .text($0.lastFourDigits) } ?? .null,
                .int(transaction.now.milliseconds), clientSecret.map(SQLValue.text) ?? .null,
            ])
    }

    package func refund(_ order: RefundOrder, key: String, for share: WorkShare?) async throws -> ProviderRefund {
        try await store.write(for: share) { transaction -> Result<ProviderRefund, ProviderFailure> in
            if let known = try transaction.rows("SELECT * FROM sandboxRefunds WHERE key = ?", [.text(key)]).first {
                guard try known.text("chargeId") == order.chargeId, try known.int("amount") == order.amountMinorUnits
                else {
                    return .failure(.keyReused)
                }
                return try .success(ProviderRefund(id: known.text("refundId")))
            }
            let charge = try transaction.rows(
                "SELECT amount FROM sandboxCharges WHERE chargeId = ? AND failure IS NULL", [.text(order.chargeId)]
            ).first
            guard let charge else { return .failure(.noSuch("charge", order.chargeId)) }
            let refunded = try transaction.rows(
                "SELECT COALESCE(SUM(amount), 0) FROM sandboxRefunds WHERE chargeId = ?", [.text(order.chargeId)]
            ).first?.int(0)
            guard try order.amountMinorUnits <= charge.int("amount") - (refunded ?? 0) else {
                return .failure(.alreadyRefunded)
            }
            let id = "re_\(Names.random(24))"
            _ = try transaction.execute(
                "INSERT INTO sandboxRefunds(key, refundId, chargeId, amount, createdAt) VALUES (?, ?, ?, ?, ?)",
                [
                    .text(key), .text(id), .text(order.chargeId), .int(order.amountMinorUnits),
                    .int(transaction.now.milliseconds),
                ])
            return .success(ProviderRefund(id: id))
        }.get()
    }

    package func foreignCharge(_ id: String, for share: WorkShare?) async throws -> ForeignCharge? {
        try await store.read(for: share) { reader in
            let row = try reader.rows(
                """
                SELECT amount, currency, (SELECT COALESCE(SUM(amount), 0) FROM sandboxRefunds
                WHERE sandboxRefunds.chargeId = sandboxCharges.chargeId) AS refunded
                FROM sandboxCharges WHERE chargeId = ? AND failure IS NULL
                """, [.text(id)]
            ).first
            return try row.map {
                try ForeignCharge(
                    amountMinorUnits: $0.int("amount"), refundedMinorUnits: $0.int("refunded"),
                    currency: $0.text("currency"))
            }
        }
    }

    private static func replay(_ row: SQLRow, for order: ChargeOrder) throws -> Result<ProviderCharge, any Error> {
        guard try row.text("source") == order.source.stored, try row.int("amount") == order.amountMinorUnits,
            try row.text("currency") == order.currency
        else { return .failure(ProviderFailure.keyReused) }
        if let secret = try row["clientSecret"].textValue { return .failure(ActionRequired(clientSecret: secret)) }
        if let failure = try row["failure"].textValue { return .failure(try ProviderFailure(stored: failure)) }
        return try .success(
            ProviderCharge(id: row.text("chargeId"), brand: row.text("brand"), lastFourDigits: row.text("lastFour")))
    }

    private static func decide(
        _ order: ChargeOrder, _ id: String, in transaction: StoreTransaction
    ) throws -> Result<ProviderCharge, ProviderFailure> {
        try card(order.source, in: transaction).flatMap { card -> Result<ProviderCharge, ProviderFailure> in
            if card.asksBank { return .failure(.authenticationRequired) }
            if let decline = card.decline { return .failure(decline) }
            return .success(ProviderCharge(id: id, brand: card.brand, lastFourDigits: card.lastFourDigits))
        }
    }

    private static func card(
        _ source: ChargeOrder.Source, in transaction: StoreTransaction
    ) throws -> Result<SandboxCard, ProviderFailure> {
        switch source {
        case .token(let token):
            guard let found = SandboxCard(token: token) else { return .failure(.noSuch("token", token)) }
            return .success(found)
        case .customer(let customerId):
            let row = try transaction.rows(
                "SELECT token FROM sandboxCustomers WHERE customerId = ? AND deleted = 0", [.text(customerId)]
            ).first
            guard let row, let found = try SandboxCard(token: row.text("token")) else {
                return .failure(.noSuch("customer", customerId))
            }
            return .success(found)
        }
    }
}

extension SandboxCard {
    /// Like Stripe's test cards, expires in August of next year.
    func details(at now: Timestamp) -> Card {
        let year = Int(now.iso.prefix(4)) ?? 2000
        return Card(brand: brand, lastFourDigits: lastFourDigits, expirationMonth: 8, expirationYear: year + 1)
    }
}
