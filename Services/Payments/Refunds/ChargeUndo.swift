import Logging
import Messages
import ObjectStore
import ParseProtocol

/// `payments.undoCharge.v1`: ends a charge that is no longer wanted. It is abandoned, or refunded.
package struct ChargeUndo: Sendable {
    private let charges: Charges
    private let refunds: Refunds
    private let logger: Logger

    package init(charges: Charges, refunds: Refunds, logger: Logger) {
        self.charges = charges
        self.refunds = refunds
        self.logger = logger
    }

    /// Ends the operation id of the refund of a charge that is no longer wanted. A refund that an operator retries has
    /// a longer one.
    static let suffix = ":undo"

    /// Returns when the charge is abandoned or fully refunded, or when the provider permanently refuses the refund.
    /// - Throws: `.serviceUnavailable` (2) while that is undecided; the caller must retry.
    package func undo(_ operationId: String, for share: WorkShare?) async throws {
        do {
            _ = try await charges.find(.with { $0.operationID = operationId }, for: share)
        } catch let error as ParseError where Self.saysNothingTaken(error) {
            return
        }
        let refund = RefundRequest.with {
            $0.operationID = operationId + Self.suffix
            $0.chargeOperationID = operationId
            $0.amountMinorUnits = 0  // Everything that is left.
        }
        do {
            let reply = try await refunds.refund(refund, for: share)
            logger.notice(
                "A charge without an order was refunded.",
                metadata: ["charge.operation": "\(operationId)", "refund.amount": "\(reply.amountMinorUnits)"])
        } catch let error as ParseError where error.code == .validationError {
            return  // Nothing is left to refund.
        } catch let error as ParseError where error.code == .scriptFailed {
            logger.critical(
                "A charge without an order cannot be refunded. The refund is parked.",
                metadata: ["charge.operation": "\(operationId)", "error": "\(error)"])
        }
    }

    /// Never made, declined, or abandoned before.
    private static func saysNothingTaken(_ error: ParseError) -> Bool {
        [.objectNotFound, .scriptFailed, .validationError].contains(error.code)
    }
}
