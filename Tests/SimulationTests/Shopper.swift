import MessageBus
import Messages
import ParseProtocol
import PaymentsService
import ProcessKit
import ServiceKit

/// A customer whose app repeats its requests until they are answered, and the operator for the order.
final class Shopper: @unchecked Sendable {
    /// What the app knows for sure.
    enum Known {
        case receipt([UInt8])
        case refused(ParseError.Code)
    }

    private let world: World
    private let number: Int
    private let customer: String
    private let order: String
    /// The answers by the client's key.
    private(set) var answers: [String: Known] = [:]
    private var requests = 0

    init(_ world: World, number: Int, customer: String, order: String) {
        self.world = world
        self.number = number
        self.customer = customer
        self.order = order
    }

    private static let address: JSON = [
        "firstName": "Ann", "lastName": "Example", "phone": "1", "address1": "1 Road", "city": "Oakland", "state": "CA",
        "zipcode": "94601",
    ]
    private static let cards =
        Array(repeating: "tok_visa", count: 5) + Array(repeating: "tok_threeDSecure2Required", count: 3)
        + ["tok_chargeDeclined", "tok_threeDSecureRequiredChargeDeclined"]
    /// Waits of some seconds: longer than any fault lasts.
    private static let repetitionsMax = 60

    // MARK: Requests

    /// Calls a function of bag as the gateway does.
    func ask(
        _ function: String, _ parameters: JSON, asOperator: Bool = false
    ) async throws -> Result<[UInt8], BusFailure> {
        try await ask(ObjectCalls(of: "bag").function(function), function, parameters, asOperator: asOperator)
    }

    /// Has the operator retry a parked refund.
    func retry(refund: String) async throws -> Result<[UInt8], BusFailure> {
        try await ask(
            ObjectCalls(of: "bag").parked, ParkedVerb.retry.rawValue, ["kind": "refund", "id": .string(refund)],
            asOperator: true)
    }

    private func ask(
        _ call: Call<FunctionRequest, FunctionReply>, _ name: String, _ parameters: JSON, asOperator: Bool
    ) async throws -> Result<[UInt8], BusFailure> {
        requests += 1
        var request = try BusRequest(call, FunctionRequest.with { $0.name = name }, timeout: .seconds(30))
        if asOperator { request.principal = .satchel } else { request.principal.userID = customer }
        request.writes = true
        request.idempotencyKey = "request-\(world.seed)-\(number)-\(requests)"
        request.documents = [parameters.serialized]
        let message = BusMessage(
            envelope: request.envelope, body: request.body, documents: request.documents)
        let result: Result<BusReply, BusFailure> = await withCheckedContinuation { continuation in
            world.carry(message, from: nil) { continuation.resume(returning: $0) }
        }
        return result.map { $0.documents.first ?? [] }
    }

    /// Repeats a request until it is decided.
    private func decide(
        _ function: String, _ parameters: JSON, asOperator: Bool = false, isImpatient: Bool = false
    ) async throws -> Result<[UInt8], BusFailure> {
        var last: Result<[UInt8], BusFailure> = .failure(.timedOut)
        for _ in 0..<Self.repetitionsMax {
            if isImpatient {
                async let other = ask(function, parameters, asOperator: asOperator)
                last = try await ask(function, parameters, asOperator: asOperator)
                let second = try await other
                if case .success = second { last = second }
            } else {
                last = try await ask(function, parameters, asOperator: asOperator)
            }
            guard case .failure(let failure) = last, Self.isPassing(failure) else { return last }
            await world.pause(world.latency(300...3000))
        }
        return last
    }

    private static func isPassing(_ failure: BusFailure) -> Bool {
        failure.failure.retriable || [1, 2, 100, 124, 155].contains(failure.failure.code)
    }

    // MARK: Shopping

    func shop() async {
        do {
            await world.pause(world.latency(0...1500))
            for attempt in 1...(world.isBrief ? 1 : 3) {
                let key = "key-\(number)-\(attempt)"
                guard let receipt = try await pay(attempt, key) else { continue }
                if !world.isBrief { try await afterwards(receipt, key) }
                return
            }
        } catch {
            world.findings.append("Customer \(number) cannot shop: \(error)")
        }
    }

    /// - Returns: the receipt; nil when the payment was refused.
    private func pay(_ attempt: Int, _ key: String) async throws -> [UInt8]? {
        let card = attempt == 3 ? "tok_visa" : Self.cards[world.random.below(Self.cards.count)]
        var wanted: JSON = [
            "tokenId": .string(card), "idempotencyKey": .string(key), "shippingAddress": Self.address,
            "allowsAction": .bool(world.random.chance(70)),
        ]
        // An app that shows an old price.
        if attempt < 3, world.random.chance(8) { wanted["amount"] = 1 }
        if world.random.chance(30) { wanted["orderId"] = .string(order) }
        for _ in 0..<Self.repetitionsMax {
            let result = try await decide("checkout", wanted, isImpatient: world.random.chance(15))
            switch result {
            case .failure(let failure):
                world.note("customer \(number), \(key): \(failure)")
                answers[key] = .refused(ParseError(failure).code)
                return nil
            case .success(let bytes):
                let answer = try JSON(parsing: bytes)
                guard answer["status"]?.stringValue == "requiresAction" else {
                    world.note("customer \(number), \(key): order \(answer["orderNo"]?.intValue ?? 0)")
                    answers[key] = .receipt(bytes)
                    return bytes
                }
                try await act(answer["clientSecret"]?.stringValue ?? "", key)
            }
        }
        return nil
    }

    /// The bank's page: the customer confirms, refuses, gives up or goes away for a while.
    private func act(_ secret: String, _ key: String) async throws {
        let choice = world.random.below(10)
        world.note("customer \(number), \(key): the bank asks, \(choice)")
        await world.pause(world.latency(100...4000))
        switch choice {
        case 0: await world.pause(world.latency(10_000...30_000))
        case 1: _ = try await ask("checkoutResult", ["idempotencyKey": .string(key), "giveUp": true])
        default:
            if world.paysByStripe {
                world.stripe.act(secret, confirms: choice > 3)
            } else {
                _ = try await world.bench.remote?.provider.act(secret, confirms: choice > 3, for: nil)
            }
        }
    }

    /// Repeats the request, and cancels or refunds some orders.
    private func afterwards(_ receipt: [UInt8], _ key: String) async throws {
        let paid = try JSON(parsing: receipt)
        let order = paid["orderId"] ?? .null
        if world.random.chance(25) {
            let again = try await decide("checkoutResult", ["idempotencyKey": .string(key)])
            if case .success(let bytes) = again, bytes != receipt {
                world.findings.append("The repeated request \(key) got another receipt.")
            }
        }
        await world.pause(world.latency(0...2000))
        switch world.random.below(10) {
        case 0, 1: _ = try await decide("cancelOrder", ["orderId": order])
        case 2, 3, 4:
            for part in 1...(1 + world.random.below(2)) {
                let total = paid["totalMinorUnits"]?.intValue ?? 0
                var wanted: JSON = [
                    "orderId": order, "idempotencyKey": .string("refund-\(number)-\(part)"),
                    "restock": .bool(world.random.chance(50)),
                ]
                if world.random.chance(60) { wanted["amount"] = .int(max(1, total / 3)) }
                _ = try await decide("refundOrder", wanted, asOperator: true, isImpatient: world.random.chance(15))
            }
        default: return
        }
        // The provider may refuse a refund again, as long as faults happen.
        for _ in 0..<2 {
            await world.pause(world.latency(0...4000))
            if let parked = try world.parkedRefund() { _ = try await retry(refund: parked) }
        }
    }
}
