import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// `checkout`, `chargeCustomer` and `ChargeToken`: three ways to ask for the same thing.
struct CheckoutFunctions: Sendable {
    let host: ServiceHost
    let ledger: CheckoutLedger
    let runner: CheckoutRunner

    /// The gateway waits 30 s; the answer that the order is still being processed must reach the client before.
    private static let waitMax = Duration.seconds(25)
    private static let waitMin = Duration.milliseconds(100)

    /// Who asks is checked before what is asked.
    func answer(_ request: ServiceRequest, _ parse: @autoclosure () throws -> CheckoutRequest) async throws -> BusReply
    {
        let began = ContinuousClock.now
        let userId = try request.userId
        let wanted = try parse()
        let keys = keys(wanted, request)
        let id: String
        if let known = try await host.store.read({ try CheckoutLedger.known(keys, of: userId, in: $0) }) {
            id = known
        } else {
            id = try await ledger.start(wanted, by: try await customer(userId, wanted, request), keys: keys)
        }
        let left = max(Self.waitMin, Self.waitMax - (ContinuousClock.now - began))
        switch await runner.outcome(of: id, within: left) {
        case .success(let receipt): return try BusReply(FunctionReply(), documents: [receipt])
        case .failure(let error): throw error
        case nil:
            throw ParseError(
                .timeout, "The order is being processed. Ask again with the same idempotencyKey to learn how it ended.")
        }
    }

    /// The client's key, and the request's own, which the gateway repeats when a process dies.
    private func keys(_ wanted: CheckoutRequest, _ request: ServiceRequest) -> [String] {
        let ofRequest = request.envelope.idempotencyKey
        return [wanted.clientKey.map { "client:\($0)" }, ofRequest.isEmpty ? nil : "request:\(ofRequest)"]
            .compactMap(\.self)
    }

    private func customer(
        _ userId: String, _ wanted: CheckoutRequest, _ request: ServiceRequest
    ) async throws -> Customer {
        let traceId = request.envelope.traceID
        async let contact = host.call(
            "users.contact.v1", ContactRequest.with { $0.userID = userId }, traceId: traceId, reply: ContactReply.self)
        let profile =
            wanted.shippingAddress == nil
            ? try await host.objects("_User", ids: [userId], as: request.envelope.principal, traceId: traceId)[userId]
            : nil
        return Customer(userId: userId, email: try await contact.email, profile: profile)
    }
}
