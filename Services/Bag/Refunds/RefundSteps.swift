import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The part of a refund that payments carries out. Idempotent.
package protocol RefundStepping: Sendable {
    /// - Returns: the provider's id of the refund.
    func refund(_ refund: Refund) async -> Result<String, CheckoutMachine.StepFailure>
}

/// The step as a message to payments.
struct RefundSteps: RefundStepping {
    let bus: BusEndpoint

    func refund(_ refund: Refund) async -> Result<String, CheckoutMachine.StepFailure> {
        let message = RefundRequest.with {
            $0.operationID = refund.id
            $0.chargeOperationID = refund.checkoutId
            $0.amountMinorUnits = refund.amount
        }
        do {
            return .success(try await bus.ask(PaymentsCalls.refund, message, key: "\(refund.id):refund").refundID)
        } catch let failure as BusFailure {
            let step = CheckoutMachine.StepFailure(charging: failure)  // Payments refuses with the same codes.
            // The charge was fully refunded at the provider, so a cancelled order has nothing left to refund.
            if refund.purpose == .cancel || refund.isOfCancelledOrder, case .refused(let error) = step,
                error.details?["code"]?.stringValue == "charge_already_refunded"
            {
                return .success("elsewhere")
            }
            return .failure(step)
        } catch {
            return .failure(.undecided)  // An unreadable answer proves nothing.
        }
    }
}
