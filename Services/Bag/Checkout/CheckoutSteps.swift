import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The checkout steps that other services carry out. Each is idempotent.
package protocol CheckoutStepping: Sendable {
    func reserve(
        _ products: [String: Int], for checkout: Checkout
    ) async -> Result<Reservation, CheckoutMachine.StepFailure>
    /// - Returns: the provider's id of the charge, or `needsConfirmation`.
    func charge(_ order: PricedOrder, for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure>
    /// Asks for the state of a charge without making one. Refused with `.objectNotFound` (101) when the charge was
    /// never begun; payments then never begins it.
    /// - Returns: the provider's id of the charge.
    func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure>
    /// Tries once to release reserved stock before the customer learns of the failure: with another card, the customer
    /// may order the same pieces at once. The outbox sends the same message with retries, so this call may fail.
    func tryRelease(_ checkout: Checkout) async
}

/// The steps as messages to catalog and payments.
struct CheckoutSteps: CheckoutStepping {
    let bus: BusEndpoint

    /// The reservation's lifetime: longer than nearly every payment. After it the catalog returns the stock.
    private static let reservationSeconds: UInt32 = 3600

    func reserve(
        _ products: [String: Int], for checkout: Checkout
    ) async -> Result<Reservation, CheckoutMachine.StepFailure> {
        let request = ReserveRequest.with { message in
            message.reservationID = checkout.id
            message.orderID = checkout.orderId
            message.lifetimeSeconds = Self.reservationSeconds
            message.lines = products.sorted { $0.key < $1.key }.map { product, quantity in
                .with {
                    $0.productID = product; $0.quantity = UInt32(clamping: quantity)
                }
            }
        }
        return await ask(CatalogCalls.reserve, request, key: "\(checkout.id):reserve") {
            CheckoutMachine.StepFailure(reserving: $0)
        }.map { reply in
            let products = reply.lines.map {
                ($0.productID, Reservation.Product(name: $0.name, unitPriceMinorUnits: $0.unitPriceMinorUnits))
            }
            return Reservation(
                products: Dictionary(products, uniquingKeysWith: { first, _ in first }), currency: reply.currency)
        }
    }

    func charge(_ order: PricedOrder, for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure> {
        let request = ChargeRequest.with {
            $0.operationID = checkout.id
            $0.orderID = checkout.orderId
            $0.userID = checkout.customerId
            $0.amountMinorUnits = order.totalMinorUnits
            $0.currency = order.currency
            $0.allowsAction = checkout.allowsAction
            switch checkout.source {
            case .paymentMethod(let id): $0.source = .paymentMethodID(id)
            case .customer(let id): $0.source = .customerID(id)
            case .token(let token): $0.source = .token(token)
            case .nothing: break
            }
        }
        return await ask(PaymentsCalls.charge, request, key: "\(checkout.id):charge") {
            CheckoutMachine.StepFailure(charging: $0)
        }.flatMap { reply -> Result<String, CheckoutMachine.StepFailure> in
            reply.clientSecret.isEmpty ? .success(reply.chargeID) : .failure(.needsConfirmation(reply.clientSecret))
        }
    }

    /// Sent without an idempotency key: a stored answer could be out of date when the request is repeated.
    func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure> {
        let request = FindChargeRequest.with { $0.operationID = checkout.id }
        return await ask(PaymentsCalls.findCharge, request, key: "") {
            CheckoutMachine.StepFailure(charging: $0)
        }.map(\.chargeID)
    }

    func tryRelease(_ checkout: Checkout) async {
        let request = ReleaseReservationRequest.with { $0.reservationID = checkout.id }
        _ = await ask(
            CatalogCalls.releaseReservation, request, key: "\(checkout.id):release", timeout: .seconds(2)
        ) { CheckoutMachine.StepFailure(reserving: $0) }
    }

    private func ask<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, timeout: Duration = .seconds(10),
        meaning: (BusFailure) -> CheckoutMachine.StepFailure
    ) async -> Result<Reply, CheckoutMachine.StepFailure> {
        do {
            return .success(try await bus.ask(call, message, key: key, timeout: timeout))
        } catch let failure as BusFailure {
            return .failure(meaning(failure))
        } catch {
            return .failure(.undecided)  // An unreadable answer proves nothing.
        }
    }
}

extension BusEndpoint {
    /// Sends a write to another service with Satchel's own permissions, independent of any client request.
    /// - Parameter key: the step's idempotency key.
    /// - Throws: `BusFailure`, and SwiftProtobuf's errors for an answer that cannot be decoded.
    func ask<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, timeout: Duration = .seconds(10)
    ) async throws -> Reply {
        var request = try BusRequest(call, message, for: nil, timeout: timeout)
        request.principal = .satchel
        request.writes = true
        request.idempotencyKey = key
        return try Reply(serializedBytes: try await self.call(request).body)
    }
}

extension CheckoutMachine.StepFailure {
    /// Codes with which payments refuses a charge: not found, declined, invalid. Any other failure leaves the outcome
    /// unknown; treating it as a refusal could lose a charge that was made.
    private static let refusalCodes: Set<Int32> = [101, 141, 142]

    package init(charging failure: BusFailure) {
        self =
            !failure.failure.retriable && Self.refusalCodes.contains(failure.failure.code)
            ? .refused(ParseError(failure)) : .undecided
    }

    /// Codes of temporary failures: an internal fault, an unavailable or busy service, an expired deadline.
    private static let temporaryCodes: Set<Int32> = [1, 2, 100, 124]

    /// Before the charge, any permanent failure is final; otherwise the bag would remain frozen. If stock was reserved
    /// anyway, the failure releases it.
    package init(reserving failure: BusFailure) {
        self =
            !failure.failure.retriable && !Self.temporaryCodes.contains(failure.failure.code)
            ? .refused(ParseError(failure)) : .undecided
    }
}
