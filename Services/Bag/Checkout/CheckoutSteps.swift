import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The steps of a checkout that other services take. Each can be asked any number of times with the same outcome.
package protocol CheckoutStepping: Sendable {
    func reserve(
        _ products: [String: Int], for checkout: Checkout
    ) async -> Result<Reservation, CheckoutMachine.StepFailure>
    /// - Returns: the provider's id of the charge.
    func charge(_ order: PricedOrder, for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure>
    /// Asks what became of a charge without making one. Refused with `.objectNotFound` (101) when it was never begun;
    /// then it never will be.
    /// - Returns: the provider's id of the charge.
    func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure>
    /// Puts reserved pieces back before the customer hears of a declined card, who may try another card at once. The
    /// outbox does the same and does not give up; this only makes it soon.
    func releaseSoon(_ checkout: Checkout) async
}

/// The steps as messages to the catalog and to payments.
struct CheckoutSteps: CheckoutStepping {
    let bus: BusEndpoint

    /// Payments that take longer than this are rare; what is not sold then goes back to stock.
    private static let reservationSeconds: UInt32 = 3600

    func reserve(
        _ products: [String: Int], for checkout: Checkout
    ) async -> Result<Reservation, CheckoutMachine.StepFailure> {
        let request = ReserveRequest.with { message in
            message.reservationID = checkout.id
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
            switch checkout.source {
            case .paymentMethod(let id): $0.source = .paymentMethodID(id)
            case .customer(let id): $0.source = .customerID(id)
            case .token(let token): $0.source = .token(token)
            case .nothing: break
            }
        }
        return await ask(PaymentsCalls.charge, request, key: "\(checkout.id):charge") {
            CheckoutMachine.StepFailure(charging: $0)
        }.map(\.chargeID)
    }

    /// Without a key: an answer that is kept could be out of date when it is asked again.
    func findCharge(for checkout: Checkout) async -> Result<String, CheckoutMachine.StepFailure> {
        let request = FindChargeRequest.with { $0.operationID = checkout.id }
        return await ask(PaymentsCalls.findCharge, request, key: "") {
            CheckoutMachine.StepFailure(charging: $0)
        }.map(\.chargeID)
    }

    func releaseSoon(_ checkout: Checkout) async {
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
            return .failure(.undecided)  // An answer that cannot be read tells nothing.
        }
    }
}

extension BusEndpoint {
    /// A step that another service takes: a write of the shop's own.
    /// - Parameter key: the step's idempotency key.
    /// - Throws: `BusFailure`, and what SwiftProtobuf throws for an answer that cannot be read.
    func ask<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, timeout: Duration = .seconds(10)
    ) async throws -> Reply {
        var request = try BusRequest(call, message, timeout: timeout)
        request.principal = .satchel
        request.writes = true
        request.idempotencyKey = key
        return try Reply(serializedBytes: try await self.call(request).body)
    }
}

extension CheckoutMachine.StepFailure {
    /// Codes by which payments decides against a charge: not found, declined, not valid. Any other failure tells
    /// nothing about the outcome; taking one for a refusal could lose a charge that was made.
    private static let refusals: Set<Int32> = [101, 141, 142]

    package init(charging failure: BusFailure) {
        self =
            !failure.failure.retriable && Self.refusals.contains(failure.failure.code)
            ? .refused(ParseError(failure)) : .undecided
    }

    /// Codes of a fault, an absent or busy service, and a deadline that passed, which a later attempt may not meet.
    private static let passing: Set<Int32> = [1, 2, 100, 124]

    /// Before anything is charged, whatever does not pass by itself is final; the bag would stay frozen otherwise.
    /// Should stock have been taken all the same, the failure releases it.
    package init(reserving failure: BusFailure) {
        self =
            !failure.failure.retriable && !Self.passing.contains(failure.failure.code)
            ? .refused(ParseError(failure)) : .undecided
    }
}
