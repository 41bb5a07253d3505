import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// `payments.charge.v1`: takes money once per operation id, however often it is asked and wherever it is interrupted.
///
/// Write down what is wanted, ask the provider with the operation id as its key, write down what it decided, answer. After a
/// crash the same request goes on from the row it finds (`ChargeLedger`).
package struct Charges: Sendable {
    private let store: ClassStore
    private let provider: any PaymentProvider
    private let logger: Logger

    package init(store: ClassStore, provider: any PaymentProvider, logger: Logger) {
        self.store = store
        self.provider = provider
        self.logger = logger
    }

    /// - Throws: `ParseError` 141 when the card was declined, 142 and 101 for a request that can never succeed, and 2 (which the
    ///   bus marks as retriable) whenever nothing is decided: the sender must ask again with the same operation id, and must not
    ///   take a lost answer for a decline.
    package func charge(_ request: ChargeRequest) async throws -> ChargeReply {
        try Self.check(request)
        switch try await outcome(of: request) {
        case .succeeded(let charge):
            return ChargeReply.with {
                $0.chargeID = charge.id
                $0.cardBrand = charge.brand
                $0.lastFourDigits = charge.lastFourDigits
            }
        case .declined(let failure): throw failure.parseError
        }
    }

    private func outcome(of request: ChargeRequest) async throws -> ChargeOutcome {
        do {
            switch try await store.write({ try ChargeLedger.begin(request, in: $0) }) {
            case .answer(let outcome): return outcome
            case .askProvider(let order):
                let decided: ChargeOutcome
                do {
                    decided = .succeeded(try await provider.charge(order, key: request.operationID))
                } catch let failure as ProviderFailure {
                    decided = .declined(failure)
                }
                return try await store.write { try ChargeLedger.decide(request.operationID, decided, in: $0) }
            }
        } catch let error as ParseError where Self.isFinal(error) {
            throw error
        } catch {
            logger.error(
                "A charge is undecided.", metadata: ["charge.operation": "\(request.operationID)", "error": "\(error)"])
            throw ParseError(.serviceUnavailable, "The payment is being processed. Ask again in a moment.")
        }
    }

    /// Only what `ChargeLedger.begin` refuses before anything was asked of the provider.
    private static func isFinal(_ error: ParseError) -> Bool {
        error.code == .validationError || error.code == .objectNotFound
    }

    /// Stripe's smallest and largest charge in minor units (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts).
    private static let amounts: ClosedRange<Int64> = 1...99_999_999

    private static func check(_ request: ChargeRequest) throws {
        guard (1...255).contains(request.operationID.utf8.count), !request.orderID.isEmpty, !request.userID.isEmpty
        else {
            throw ParseError(.validationError, "A charge needs an operation id, an order and a user.")
        }
        guard amounts.contains(request.amountMinorUnits) else {
            throw ParseError(
                .validationError, "The amount of a charge must be from \(amounts.lowerBound) to \(amounts.upperBound).")
        }
        guard request.currency.utf8.count == 3 else { throw ParseError(.validationError, "A charge needs a currency.") }
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
