import Cryptography
import Foundation
import MessageBus
import Messages
import Outbound
import ParseProtocol
import PaymentsService
import ServiceKit
import VirtualThread

/// Stripe's payment intents, refunds and webhooks (https://docs.stripe.com/api), as `StripeProvider` uses them.
final class SimulatedStripe: @unchecked Sendable {
    private struct Intent {
        let id: String
        let amount: Int64
        let currency: String
        let operation: String
        let card: String
        var status = "requires_confirmation"
        var problem: JSON = .null
        var refunds: [JSON] = []

        var secret: String { "\(id)_secret_bank" }
        var refunded: Int64 {
            refunds.filter { $0["status"] == "succeeded" }.reduce(0) { $0 + ($1["amount"]?.intValue ?? 0) }
        }
        var left: Int64 { status == "succeeded" ? amount - refunded : 0 }

        var json: JSON {
            [
                "object": "payment_intent", "id": .string(id), "status": .string(status), "amount": .int(amount),
                "currency": .string(currency), "client_secret": .string(secret), "last_payment_error": problem,
                "metadata": ["operation_id": .string(operation)],
                "latest_charge": ["payment_method_details": ["card": ["brand": "visa", "last4": "4242"]]],
            ]
        }
    }

    private typealias Answer = (status: Int, body: JSON)

    static let webhookSecret = "whsec_simulated"
    private static let configuration = try? StripeConfiguration(url: "http://localhost", secretKey: "sk_simulated")
    private static let declined: JSON = [
        "type": "card_error", "code": "card_declined", "message": "Your card was declined.",
    ]
    private static let unauthenticated: JSON = [
        "type": "card_error", "code": "payment_intent_authentication_failure", "message": "The bank said no.",
    ]

    weak var world: World?
    private var intents: [Intent] = []
    /// The first answers by idempotency key.
    private var answers: [String: Answer] = [:]
    private var events = 0
    /// The refunds that fail later, until the shop knows it.
    private(set) var failing: Set<String> = []

    /// The money that Stripe has of each operation, less refunds.
    var taken: [(operation: String, amount: Int64)] { intents.map { ($0.operation, $0.left) } }

    func provider(for process: SimulatedProcess, _ host: ServiceHost) throws -> any PaymentProvider {
        guard let configuration = Self.configuration else { throw ParseError.internalError }
        let client = StripeClient(configuration, logger: host.logger) {
            [self] (request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse in
            do {
                return try await process.acrossTheInternet { self.answer(request) }
            } catch {
                throw OutboundFailure(.timedOut, wasNotSent: false)
            }
        }
        return StripeProvider(api: .paymentIntents, client: client, store: host.store)
    }

    /// What the bank's page does.
    func act(_ secret: String, confirms: Bool) {
        guard let place = intents.firstIndex(where: { $0.secret == secret && $0.status == "requires_action" }) else {
            return
        }
        if confirms, !intents[place].card.contains("Declined") {
            succeed(place)
        } else {
            fail(place, confirms ? Self.declined : Self.unauthenticated)
        }
    }

    // MARK: Requests

    private func answer(_ request: OutboundRequest) -> OutboundResponse {
        let key = request.headers.first { $0.name == "Idempotency-Key" }?.value
        let answer = key.flatMap { answers[$0] } ?? perform(request)
        if let key { answers[key] = answer }
        return OutboundResponse(status: answer.status, body: answer.body.serialized)
    }

    private func perform(_ request: OutboundRequest) -> Answer {
        let parts = request.url.split(separator: "?", maxSplits: 1)
        let path = parts[0].split(separator: "/").dropFirst(3).map(String.init)
        let query = parts.count > 1 ? String(parts[1]) : ""
        let form = Self.form(request.method == .post ? String(decoding: request.body, as: UTF8.self) : query)
        switch (request.method, path.count) {
        case (.post, 1) where path[0] == "payment_intents": return create(form)
        case (.post, 1) where path[0] == "refunds": return refund(form)
        case (.get, 1) where path[0] == "refunds":
            let made = intents.first { $0.id == form["payment_intent"] }?.refunds ?? []
            return (200, ["object": "list", "data": .array(made)])
        default: break
        }
        guard path.count > 1, let place = intents.firstIndex(where: { $0.id == path[1] }) else {
            return Self.refused(404, "resource_missing")
        }
        switch path.last {
        case "confirm": return confirm(place)
        case "cancel": return cancel(place)
        default: return (200, intents[place].json)
        }
    }

    private func create(_ form: [String: String]) -> Answer {
        let intent = Intent(
            id: "pi_\(intents.count + 1)", amount: Int64(form["amount"] ?? "") ?? 0, currency: form["currency"] ?? "",
            operation: form["metadata[operation_id]"] ?? "", card: form["payment_method_data[card][token]"] ?? "")
        intents.append(intent)
        return (200, intent.json)
    }

    private func confirm(_ place: Int) -> Answer {
        guard intents[place].status == "requires_confirmation" else {
            return Self.refused(400, "payment_intent_unexpected_state")
        }
        if intents[place].card.contains("threeDSecure") {
            intents[place].status = "requires_action"
        } else if intents[place].card.contains("Declined") {
            fail(place, Self.declined)
            return (402, ["error": Self.declined])
        } else {
            succeed(place)
        }
        return (200, intents[place].json)
    }

    private func cancel(_ place: Int) -> Answer {
        guard !["succeeded", "canceled"].contains(intents[place].status) else {
            return Self.refused(400, "payment_intent_unexpected_state")
        }
        intents[place].status = "canceled"
        tell("payment_intent.canceled", intents[place].json)
        return (200, intents[place].json)
    }

    private func refund(_ form: [String: String]) -> Answer {
        let amount = Int64(form["amount"] ?? "") ?? 0
        let operation = form["metadata[operation_id]"] ?? ""
        guard let place = intents.firstIndex(where: { $0.id == form["payment_intent"] }), intents[place].left >= amount
        else { return Self.refused(400, "charge_already_refunded") }
        if world?.refuses(operation) == true { return Self.refused(400, "charge_disputed") }
        let made: JSON = [
            "object": "refund", "id": .string("re_\(intents[place].id)_\(intents[place].refunds.count + 1)"),
            "status": "succeeded", "amount": .int(amount), "currency": .string(intents[place].currency),
            "metadata": ["operation_id": .string(operation)],
        ]
        intents[place].refunds.append(made)
        tell(
            "charge.refunded",
            [
                "id": .string("ch_\(place)"), "payment_intent": .string(intents[place].id),
                "amount_refunded": .int(intents[place].refunded), "currency": .string(intents[place].currency),
            ])
        // An operator would have to refund a charge without an order.
        if !operation.contains(":undo"), world?.weather.strikes(.refundReversed, isLate: true) == true {
            reverse(made, place)
        }
        return (200, made)
    }

    private func reverse(_ refund: JSON, _ place: Int) {
        guard let world, let id = refund["id"]?.stringValue else { return }
        failing.insert(id)
        world.thread.after(milliseconds: world.latency(10...20_000)) { [self] in
            world.note("the bank does not take \(id)")
            var failed = refund
            failed["status"] = "failed"
            failed["payment_intent"] = .string(intents[place].id)
            failed["failure_reason"] = "expired_or_canceled_card"
            intents[place].refunds = intents[place].refunds.map { $0["id"] == refund["id"] ? failed : $0 }
            // Stripe tries for three days.
            tell("refund.failed", failed, attempts: 1000) { [self] in _ = failing.remove(id) }
        }
    }

    private func succeed(_ place: Int) {
        intents[place].status = "succeeded"
        tell("payment_intent.succeeded", intents[place].json)
    }

    private func fail(_ place: Int, _ problem: JSON) {
        intents[place].status = "requires_payment_method"
        intents[place].problem = problem
        tell("payment_intent.payment_failed", intents[place].json)
    }

    private static func refused(_ status: Int, _ code: String) -> Answer {
        (status, ["error": ["type": "invalid_request_error", "code": .string(code), "message": "It is refused."]])
    }

    private static func form(_ text: String) -> [String: String] {
        let pairs = text.utf8.split(separator: UInt8(ascii: "&")).map { field -> (String, String) in
            let pair = field.split(separator: UInt8(ascii: "="), maxSplits: 1).map(decoded)
            return (pair.first ?? "", pair.count > 1 ? pair[1] : "")
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// Foundation's `removingPercentEncoding` takes many times as long.
    private static func decoded(_ text: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            let digits = byte == UInt8(ascii: "%") ? String(decoding: rest.prefix(2), as: UTF8.self) : ""
            if let escaped = UInt8(digits, radix: 16) {
                bytes.append(escaped)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Webhooks

    /// Sends an event until the shop takes it.
    private func tell(
        _ type: String, _ object: JSON, attempts: Int = 5, taken: @escaping @Sendable () -> Void = {}
    ) {
        guard let world else { return }
        events += 1
        let event: JSON = [
            "object": "event", "id": .string("evt_\(events)"), "type": .string(type),
            "created": .int(Timestamp.now.milliseconds / 1000), "data": ["object": object],
        ]
        let copies = world.weather.strikes(.webhookDoubled) ? 2 : 1
        for _ in 0..<copies {
            let isLate = world.weather.strikes(.webhookLate)
            let delay = world.latency(isLate ? 1000...30_000 : 5...200)
            send(event.serialized, after: delay, attempts: attempts, taken: taken)
        }
    }

    private func send(
        _ event: [UInt8], after milliseconds: Double, attempts: Int, taken: @escaping @Sendable () -> Void
    ) {
        guard let world, attempts > 0 else { return }
        world.thread.after(milliseconds: milliseconds) { [self] in
            let time = "\(Timestamp.now.milliseconds / 1000)"
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("\(time).".utf8) + event, using: SymmetricKey(data: Array(Self.webhookSecret.utf8)))
            let webhook = PaymentWebhook.with { $0.signature = "t=\(time),v1=\(Array(code).hex)" }
            guard var request = try? BusRequest(PaymentsCalls.webhook, webhook) else { return }
            request.writes = true
            request.documents = [event]
            let message = BusMessage(envelope: request.envelope, body: request.body, documents: request.documents)
            world.carry(message, from: nil) { [self] result in
                guard case .failure = result else { return taken() }
                send(event, after: 3000, attempts: attempts - 1, taken: taken)
            }
        }
    }
}
