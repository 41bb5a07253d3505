import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `payments.charge.v1`: charges once per operation id, however often it is requested and wherever it is interrupted.
///
/// It stores the request, asks the provider with the operation id as key, stores the decision, and answers. After a
/// crash the same request continues from the stored row (`ChargeLedger`).
package struct Charges: Sendable {
    private let store: ClassStore
    private let provider: any PaymentProvider
    private let logger: Logger

    package init(store: ClassStore, provider: any PaymentProvider, logger: Logger) {
        self.store = store
        self.provider = provider
        self.logger = logger
    }

    /// - Throws: `.scriptFailed` (141) when the card was declined, `.validationError` (142) and `.objectNotFound` (101)
    ///   for a request that can never succeed, and `.serviceUnavailable` (2), which the bus marks as retriable, while
    ///   the charge is undecided. The sender must then retry with the same operation id, and must not treat a lost
    ///   answer as a decline.
    /// - Returns: the charge, or the client secret while the customer has to confirm it.
    package func charge(_ request: ChargeRequest, for share: WorkShare?) async throws -> ChargeReply {
        try Self.check(request)
        do {
            return try await decided(request.operationID, share) {
                switch try await store.write(for: share, { try ChargeLedger.begin(request, in: $0) }) {
                case .answer(let outcome): return outcome
                case .askProvider(let order):
                    let outcome = try await outcome {
                        try await provider.charge(order, key: request.operationID, for: share)
                    }
                    return try await store.write(for: share) {
                        try ChargeLedger.decide(request.operationID, outcome, in: $0)
                    }
                }
            }
        } catch let action as ActionRequired {
            try await store.write(for: share) { try ChargeLedger.awaitAction(request.operationID, in: $0) }
            return ChargeReply.with { $0.clientSecret = action.clientSecret }
        }
    }

    /// `payments.findCharge.v1`: the state of a charge, without making one.
    /// - Throws: as `charge`; `.objectNotFound` (101) when it was never made and never will be.
    package func find(_ request: FindChargeRequest, for share: WorkShare?) async throws -> ChargeReply {
        let operationId = request.operationID
        guard Self.operationIdBytes.contains(operationId.utf8.count) else { throw ParseError.objectNotFound }
        return try await decided(operationId, share) {
            switch try await store.write(for: share, { try ChargeLedger.find(operationId, in: $0) }) {
            case .answer(let outcome): return outcome
            case .never: throw ParseError.objectNotFound
            case .askProvider(let order):
                let outcome = try await outcome { () throws -> ProviderCharge in
                    if let found = try await provider.findCharge(order, key: operationId, for: share) { return found }
                    try await store.write(for: share) { try ChargeLedger.abandon(operationId, in: $0) }
                    throw ParseError.objectNotFound
                }
                return try await store.write(for: share) { try ChargeLedger.decide(operationId, outcome, in: $0) }
            }
        }
    }

    private func outcome(_ ask: () async throws -> ProviderCharge) async throws -> ChargeOutcome {
        do {
            return .succeeded(try await ask())
        } catch let failure as ProviderFailure {
            return .declined(failure)
        }
    }

    /// The answer to the sender: the outcome, a final error, or "undecided".
    private func decided(
        _ operationId: String, _ share: WorkShare?, _ work: () async throws -> ChargeOutcome
    ) async throws -> ChargeReply {
        let outcome: ChargeOutcome
        do {
            outcome = try await work()
        } catch let error as ParseError where Self.isFinal(error) {
            throw error
        } catch let action as ActionRequired {
            throw action
        } catch {
            logger.error(
                "A charge is undecided.", metadata: ["charge.operation": "\(operationId)", "error": "\(error)"])
            await UndecidedReasons.note(operationId, error, in: store, for: share, logger)
            throw ParseError(.serviceUnavailable, "The payment is being processed. Ask again in a moment.")
        }
        switch outcome {
        case .succeeded(let charge):
            return ChargeReply.with {
                $0.chargeID = charge.id
                $0.cardBrand = charge.brand
                $0.lastFourDigits = charge.lastFourDigits
            }
        case .declined(let failure): throw failure.parseError
        }
    }

    /// Whether the error proves that no charge was made: the ledger threw it before any request to the provider, or the
    /// provider confirmed that there is no charge.
    private static func isFinal(_ error: ParseError) -> Bool {
        error.code == .validationError || error.code == .objectNotFound
    }

    /// Stripe's limit for an idempotency key (https://docs.stripe.com/api/idempotent_requests), minus room for
    /// Satchel's prefixes.
    static let operationIdBytes = 1...200

    private static func check(_ request: ChargeRequest) throws {
        guard operationIdBytes.contains(request.operationID.utf8.count), !request.orderID.isEmpty,
            !request.userID.isEmpty
        else {
            throw ParseError(.validationError, "A charge needs an operation id, an order and a user.")
        }
        guard Price.chargeable.contains(request.amountMinorUnits) else {
            throw ParseError(
                .validationError,
                "The amount of a charge must be from \(Price.chargeable.lowerBound) to \(Price.chargeable.upperBound).")
        }
        guard (try? Currency(request.currency)) != nil else {
            throw ParseError(.validationError, "A charge needs a currency.")
        }
        let source: String? =
            switch request.source {
            case .paymentMethodID(let id), .customerID(let id), .token(let id): id
            case nil: nil
            }
        guard let source, (1...255).contains(source.utf8.count) else {
            throw ParseError(.validationError, "A charge needs a payment method, a customer or a token.")
        }
        if CardNumber.isPresent(in: source) { throw CardNumber.refused }
    }
}
