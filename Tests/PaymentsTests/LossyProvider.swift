import PaymentsService

/// The real provider over a network that loses messages: either every request or every answer.
struct LossyProvider: PaymentProvider {
    struct ConnectionLost: Error {}

    let provider: any PaymentProvider
    let losesAnswers: Bool

    init(_ provider: any PaymentProvider, losesAnswers: Bool) {
        self.provider = provider
        self.losesAnswers = losesAnswers
    }

    func createCustomer(token: String, email: String?, key: String) async throws -> ProviderCustomer {
        if losesAnswers { _ = try await provider.createCustomer(token: token, email: email, key: key) }
        throw ConnectionLost()
    }

    func deleteCustomer(_ id: String) async throws {
        if losesAnswers { try await provider.deleteCustomer(id) }
        throw ConnectionLost()
    }

    func charge(_ order: ChargeOrder, key: String) async throws -> ProviderCharge {
        if losesAnswers { _ = try await provider.charge(order, key: key) }
        throw ConnectionLost()
    }

    func findCharge(_ order: ChargeOrder, key: String) async throws -> ProviderCharge? {
        if losesAnswers { _ = try await provider.findCharge(order, key: key) }
        throw ConnectionLost()
    }

    func refund(_ order: RefundOrder, key: String) async throws -> ProviderRefund {
        if losesAnswers { _ = try await provider.refund(order, key: key) }
        throw ConnectionLost()
    }
}
