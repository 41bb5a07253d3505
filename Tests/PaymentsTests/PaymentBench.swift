import InMemoryLogging
import Logging
import Messages
import Outbound
import ParseProtocol
import PaymentsService
import ServiceSupport
import TestSupport

/// The payments service's store with one of the providers, and test cards for that provider.
struct PaymentBench: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case sandbox, doubleIntents, doubleCharges, localIntents, localCharges
    }

    enum Wallet: String, Sendable {
        case good
        /// Can be stored, but every charge is declined.
        case declines
        /// Cannot even be stored.
        case refused
    }

    let kind: Kind
    let sandbox: SandboxStore
    let provider: any PaymentProvider
    let charges: Charges
    let refunds: Refunds
    /// What the client of Stripe logged.
    let log = InMemoryLogHandler()
    private let local: LocalStripe?

    private init(
        _ kind: Kind, provider make: (SandboxStore, InMemoryLogHandler) throws -> any PaymentProvider,
        local: LocalStripe? = nil
    ) async throws {
        self.kind = kind
        self.local = local
        sandbox = try await SandboxStore(paymentsPlan)
        provider = try make(sandbox, log)
        charges = Charges(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
        refunds = Refunds(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
    }

    static func with(_ kind: Kind, _ body: (PaymentBench) async throws -> Void) async throws {
        switch kind {
        case .sandbox:
            try await body(PaymentBench(kind, provider: { sandbox, _ in SandboxProvider(store: sandbox.store) }))
        case .doubleIntents, .doubleCharges:
            try await StripeDouble.with { double in try await body(stripe(kind, double)) }
        case .localIntents, .localCharges:
            try await LocalStripe.with { local in
                try await body(
                    PaymentBench(
                        kind,
                        provider: {
                            try stripe(
                                $0, url: local.peer.url, key: LocalStripe.secretKey, isCharges: kind == .localCharges,
                                timeoutSeconds: 30, log: $1)
                        }, local: local))
            }
        }
    }

    /// A bench with a double that the test owns.
    static func stripe(_ kind: Kind, _ double: StripeDouble, timeoutSeconds: Int = 30) async throws -> PaymentBench {
        try await PaymentBench(
            kind,
            provider: {
                try stripe(
                    $0, url: double.url, key: StripeDouble.secretKey, isCharges: kind == .doubleCharges,
                    timeoutSeconds: timeoutSeconds, log: $1)
            })
    }

    static func stripe(
        _ sandbox: SandboxStore, url: String, key: String, isCharges: Bool, timeoutSeconds: Int,
        log: InMemoryLogHandler = InMemoryLogHandler()
    ) throws -> StripeProvider {
        let configuration = try StripeConfiguration(
            url: url, secretKey: key, api: isCharges ? "charges" : "payment_intents", timeoutSeconds: timeoutSeconds)
        let client = StripeClient(
            configuration, outbound: OutboundClient(), logger: Logger(label: "test") { _ in log })
        return StripeProvider(api: configuration.api, client: client, store: sandbox.store)
    }

    /// A token of a card.
    func token(_ card: Wallet) async throws -> String {
        guard let local else {
            return switch card {
            case .good: "tok_visa"
            case .declines: "tok_chargeCustomerFail"
            case .refused: "tok_chargeDeclined"
            }
        }
        return switch card {
        case .good: try await local.token("4242424242424242")
        case .declines: try await local.token("4000000000000341")
        case .refused: try await local.token("4000000000000002")
        }
    }

    /// A customer of `owner` with a card, stored as a payment method.
    func customer(_ card: Wallet = .good, owner: String = "alice") async throws -> ProviderCustomer {
        let customer = try await provider.createCustomer(
            token: try await token(card), email: "a@example.com", key: "customer:\(Names.random(16))")
        try await sandbox.store.write { _ = try PaymentMethods.keep(customer, owner: owner, in: $0) }
        return customer
    }

    /// A charge of 1999 cents.
    static func order(_ operation: String, customer: String) -> ChargeRequest {
        var request = order(operation, token: "")
        request.customerID = customer
        return request
    }

    static func order(_ operation: String, token: String) -> ChargeRequest {
        ChargeRequest.with {
            $0.operationID = operation
            $0.orderID = "order1"
            $0.userID = "alice"
            $0.amountMinorUnits = 1999
            $0.currency = "usd"
            $0.token = token
        }
    }

    static func refund(_ amount: Int64, of charge: String, as operation: String) -> RefundRequest {
        RefundRequest.with {
            $0.operationID = operation
            $0.chargeOperationID = charge
            $0.amountMinorUnits = amount
        }
    }

    func find(_ operation: String) async throws -> ChargeReply {
        try await charges.find(.with { $0.operationID = operation })
    }
}

// Work that belongs to no request.

extension PaymentProvider {
    func createCustomer(token: String, email: String?, key: String) async throws -> ProviderCustomer {
        try await createCustomer(token: token, email: email, key: key, for: nil)
    }

    func deleteCustomer(_ id: String) async throws { try await deleteCustomer(id, for: nil) }

    func charge(_ order: ChargeOrder, key: String) async throws -> ProviderCharge {
        try await charge(order, key: key, for: nil)
    }

    func findCharge(_ order: ChargeOrder, key: String) async throws -> ProviderCharge? {
        try await findCharge(order, key: key, for: nil)
    }

    func refund(_ order: RefundOrder, key: String) async throws -> ProviderRefund {
        try await refund(order, key: key, for: nil)
    }
}

extension Charges {
    func charge(_ request: ChargeRequest) async throws -> ChargeReply { try await charge(request, for: nil) }
    func find(_ request: FindChargeRequest) async throws -> ChargeReply { try await find(request, for: nil) }
}

extension Refunds {
    func refund(_ request: RefundRequest) async throws -> RefundReply { try await refund(request, for: nil) }
}

extension ChargeUndo {
    func undo(_ operationId: String) async throws { try await undo(operationId, for: nil) }
}

extension StripeClient {
    func answer(_ request: StripeRequest, key: String) async -> StripeAnswer {
        await answer(request, key: key, for: nil)
    }
}
