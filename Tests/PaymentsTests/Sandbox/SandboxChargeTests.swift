import Logging
import Messages
import ObjectStore
import ParseProtocol
import PaymentsService
import ServiceSupport
import Testing

/// A charge is made once: from each recovery point, the same request has the same outcome.
@Suite struct SandboxChargeTests {
    private let sandbox: SandboxStore
    private let provider: SandboxProvider
    private let charges: Charges

    init() async throws {
        sandbox = try await SandboxStore(paymentsPlan)
        provider = SandboxProvider(store: sandbox.store)
        charges = Charges(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
    }

    private func request(_ operation: String = "op1", amount: Int64 = 1999, token: String = "tok_visa") -> ChargeRequest
    {
        ChargeRequest.with {
            $0.operationID = operation
            $0.orderID = "order1"
            $0.userID = "alice"
            $0.amountMinorUnits = amount
            $0.currency = "usd"
            $0.token = token
        }
    }

    private var order: ChargeOrder {
        ChargeOrder(source: .token("tok_visa"), amountMinorUnits: 1999, currency: "usd", orderId: "order1")
    }

    private func moneyTaken() async throws -> Int64 {
        try await sandbox.count("SELECT count(*) FROM sandboxCharges WHERE failure IS NULL")
    }

    @Test func aChargeSucceedsAndRepeats() async throws {
        let first = try await charges.charge(request())
        #expect(first.chargeID.hasPrefix("ch_"))
        #expect(first.cardBrand == "Visa")
        #expect(first.lastFourDigits == "4242")
        #expect(try await charges.charge(request()) == first)
        #expect(try await moneyTaken() == 1)
    }

    @Test func aCrashAfterTheProviderTookTheMoneyIsFinishedWithoutTakingItAgain() async throws {
        let lost = Charges(
            store: sandbox.store, provider: LossyProvider(provider, losesAnswers: true),
            logger: Logger(label: "test"))
        #expect(await parseError { _ = try await lost.charge(request()) }?.code == .serviceUnavailable)
        #expect(try await moneyTaken() == 1)
        let reply = try await charges.charge(request())
        #expect(try await provider.charge(order, key: "op1").id == reply.chargeID)
        #expect(try await moneyTaken() == 1)
    }

    @Test func aCrashBeforeTheProviderWasAskedIsFinished() async throws {
        let unreachable = Charges(
            store: sandbox.store, provider: LossyProvider(provider, losesAnswers: false),
            logger: Logger(label: "test"))
        #expect(await parseError { _ = try await unreachable.charge(request()) }?.code == .serviceUnavailable)
        #expect(try await moneyTaken() == 0)
        _ = try await charges.charge(request())
        #expect(try await moneyTaken() == 1)
    }

    @Test func aDeclineStands() async throws {
        for _ in 1...2 {
            let error = await parseError {
                _ = try await charges.charge(request(token: "tok_chargeDeclinedInsufficientFunds"))
            }
            #expect(error?.code == .scriptFailed)
            #expect(error?.message == "Your card has insufficient funds.")
            #expect(error?.details?["decline_code"] == "insufficient_funds")
        }
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCharges") == 1)
    }

    @Test func oneOperationIsOneCharge() async throws {
        _ = try await charges.charge(request())
        #expect(await parseError { _ = try await charges.charge(request(amount: 2000)) }?.code == .validationError)
        #expect(await parseError { _ = try await charges.charge(request(token: "tok_amex")) }?.code == .validationError)
        #expect(try await moneyTaken() == 1)
    }

    @Test func simultaneousRepetitionsGetOneAnswer() async throws {
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...16 { group.addTask { try await charges.charge(request()).chargeID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try await moneyTaken() == 1)
    }

    @Test func unknownTokensAndForeignSourcesAreRefused() async throws {
        let unknown = await parseError { _ = try await charges.charge(request(token: "tok_nope")) }
        #expect(unknown?.code == .scriptFailed)
        #expect(unknown?.message == "No such token: 'tok_nope'")
        #expect(unknown?.details?["code"] == "resource_missing")
        var foreign = request("op2")
        foreign.customerID = "cus_of_somebody_else"
        #expect(await parseError { _ = try await charges.charge(foreign) }?.code == .objectNotFound)
        foreign.paymentMethodID = "nothing123"
        #expect(await parseError { _ = try await charges.charge(foreign) }?.code == .objectNotFound)
    }

    @Test func amountsOutOfBoundsAndCardNumbersNeverReachTheLedger() async throws {
        for amount: Int64 in [0, -1, 100_000_000] {
            #expect(
                await parseError { _ = try await charges.charge(request(amount: amount)) }?.code == .validationError)
        }
        let card = await parseError { _ = try await charges.charge(request(token: "4242 4242 4242 4242")) }
        #expect(card?.code == .validationError)
        #expect(try await sandbox.count("SELECT count(*) FROM charges") == 0)
    }

    @Test func theProviderRefusesAKeyThatWasUsedForSomethingElse() async throws {
        _ = try await provider.charge(order, key: "k")
        let other = ChargeOrder(source: order.source, amountMinorUnits: 1, currency: "usd", orderId: "order1")
        await #expect(throws: ProviderFailure.self) { try await provider.charge(other, key: "k") }
    }
}
