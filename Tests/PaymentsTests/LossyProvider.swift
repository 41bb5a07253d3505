import ObjectStore
import PaymentsService

/// The real provider over a network that loses messages: either every request or every answer.
struct LossyProvider: PaymentProvider {
    struct ConnectionLost: Error {}

    let provider: any PaymentProvider
    let losesAnswers: Bool
    /// Runs before a charge or its answer is lost.
    var meanwhile: @Sendable () async throws -> Void = {}
    /// Whether the answer to a charge arrives after `meanwhile`.
    var answersLate = false

    init(_ provider: any PaymentProvider, losesAnswers: Bool) {
        self.provider = provider
        self.losesAnswers = losesAnswers
    }

    func createCustomer(
        token: String, email: String?, key: String, for share: WorkShare?
    ) async throws -> ProviderCustomer {
        if losesAnswers { _ = try await provider.createCustomer(token: token, email: email, key: key, for: share) }
        throw ConnectionLost()
    }

    func deleteCustomer(_ id: String, for share: WorkShare?) async throws {
        if losesAnswers { try await provider.deleteCustomer(id, for: share) }
        throw ConnectionLost()
    }

    func charge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge {
        let made = losesAnswers ? try await provider.charge(order, key: key, for: share) : nil
        try await meanwhile()
        guard answersLate, let made else { throw ConnectionLost() }
        return made
    }

    func findCharge(_ order: ChargeOrder, key: String, for share: WorkShare?) async throws -> ProviderCharge? {
        if losesAnswers { _ = try await provider.findCharge(order, key: key, for: share) }
        throw ConnectionLost()
    }

    func refund(_ order: RefundOrder, key: String, for share: WorkShare?) async throws -> ProviderRefund {
        if losesAnswers { _ = try await provider.refund(order, key: key, for: share) }
        throw ConnectionLost()
    }
}
