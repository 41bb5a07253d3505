import ObjectStore
import ParseProtocol
import ServiceKit

/// `adoptCharge {orderId, chargeId}`: makes a charge refundable that this service did not make: one by cloud code, or
/// of an imported order. The bag calls it before it refunds such an order.
struct ForeignCharges: Sendable {
    let host: ServiceHost
    let provider: any PaymentProvider

    private static let idBytes = 4...255

    func install(in routes: inout ServiceRoutes) {
        routes.function("adoptCharge") { [self] parameters, request in
            try request.requireMaster()
            guard let orderId = parameters["orderId"]?.stringValue, Names.isObjectId(orderId) else {
                throw ParseError(.validationError, "orderId is missing or not an id.")
            }
            let chargeId = parameters["chargeId"]?.stringValue ?? ""
            let found = try await charge(chargeId, for: request.share)
            let operationId = try await host.store.write(for: request.share) {
                try Self.keep(found, chargeId, orderId, in: $0)
            }
            return try .result([
                "operationId": .string(operationId), "amount": .int(found.amountMinorUnits),
                "refundedAmount": .int(found.refundedMinorUnits), "currency": .string(found.currency),
            ])
        }
    }

    /// - Throws: `.validationError` (142) when the provider has no such charge, `.serviceUnavailable` (2) when it
    ///   cannot be asked.
    private func charge(_ id: String, for share: WorkShare?) async throws -> ForeignCharge {
        // The id becomes a part of a path.
        let isId =
            Self.idBytes.contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "_") || (byte < 0x80 && Character(UnicodeScalar(byte)).isLetter)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
        let found: ForeignCharge?
        do {
            found = isId ? try await provider.foreignCharge(id, for: share) : nil
        } catch {
            host.logger.error("A charge could not be looked up.", metadata: ["error": "\(error)"])
            throw ParseError(.serviceUnavailable, "The payment provider did not answer. Try again in a moment.")
        }
        guard let found else {
            throw ParseError(
                .validationError,
                """
                The shop's payment provider has no charge \(id.prefix(64)). Refund it where it was made, and set the \
                order's paymentStatus to refunded with the master key.
                """)
        }
        return found
    }

    /// - Returns: the charge's operation id, under which it can be refunded.
    private static func keep(
        _ charge: ForeignCharge, _ chargeId: String, _ orderId: String, in transaction: StoreTransaction
    ) throws -> String {
        let known = try transaction.rows(
            "SELECT operationId FROM charges WHERE chargeId = ? AND state = 'succeeded'", [.text(chargeId)]
        ).first
        if let known { return try known.text("operationId") }
        let operationId = "adopted:\(chargeId)"
        _ = try transaction.execute(
            """
            INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, chargeId,
            brand, lastFour, createdAt, changedAt) VALUES (?1, ?2, '', ?3, ?4, '', '', 'succeeded', ?5, '', '', ?6, ?6)
            """,
            [
                .text(operationId), .text(orderId), .int(charge.amountMinorUnits), .text(charge.currency),
                .text(chargeId), .int(transaction.now.milliseconds),
            ])
        return operationId
    }
}
