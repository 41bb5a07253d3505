import Logging
import Messages
import ObjectStore
import ParseProtocol
import PaymentsService
import ServiceKit
import ServiceSupport
import Testing

/// Charges after their creation: a look-up does not create one, each refund operation refunds once and never too much,
/// and a deleted account's name is removed. Uses the sandbox as the provider.
@Suite struct PaymentLedgerTests {
    private let sandbox: SandboxStore
    private let provider: SandboxProvider
    private let charges: Charges
    private let refunds: Refunds

    init() async throws {
        sandbox = try await SandboxStore(paymentsPlan)
        provider = SandboxProvider(store: sandbox.store)
        charges = Charges(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
        refunds = Refunds(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
    }

    private func lossy(losesAnswers: Bool) -> (charges: Charges, refunds: Refunds) {
        let provider = LossyProvider(provider, losesAnswers: losesAnswers)
        return (
            Charges(store: sandbox.store, provider: provider, logger: Logger(label: "test")),
            Refunds(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
        )
    }

    private func request(_ operation: String, token: String = "tok_visa") -> ChargeRequest {
        ChargeRequest.with {
            $0.operationID = operation
            $0.orderID = "order1"
            $0.userID = "alice"
            $0.amountMinorUnits = 1999
            $0.currency = "usd"
            $0.token = token
        }
    }

    private func find(_ operation: String) async throws -> ChargeReply {
        try await charges.find(.with { $0.operationID = operation })
    }

    private func back(_ amount: Int64, of operation: String, as refund: String) -> RefundRequest {
        RefundRequest.with {
            $0.operationID = refund
            $0.chargeOperationID = operation
            $0.amountMinorUnits = amount
        }
    }

    private func moneyBack() async throws -> Int64 {
        try await sandbox.count("SELECT COALESCE(SUM(amount), 0) FROM sandboxRefunds")
    }

    // MARK: - Figures

    /// An alert reads them.
    @Test func onlyWhatTheProviderShouldHaveDecidedIsOpen() async throws {
        try await sandbox.store.write { transaction in
            for (id, awaits, createdAt) in [("new", 0, 400_000), ("late", 0, 100_000), ("unconfirmed", 1, 100_000)] {
                try transaction.execute(
                    """
                    INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, \
                    createdAt, changedAt, awaitsAction)
                    VALUES (?, 'order1', 'alice', 1, 'usd', '', '', 'created', ?, 0, ?)
                    """, [.text(id), .int(Int64(createdAt)), .int(Int64(awaits))])
            }
        }
        let figures = try await sandbox.store.read {
            try OpenPayments.figures(in: $0, at: Timestamp(milliseconds: 400_000))
        }
        #expect(figures.map(\.value) == [1, 0])
        #expect(figures.map(\.labels) == [["kind": "charges"], ["kind": "refunds"]])
    }

    @Test(.enabled(if: testsRunOnSQLite), arguments: ["charges", "refunds"])
    func openOnesAreCountedByTheirIndex(_ table: String) async throws {
        let plan = try await sandbox.store.read { reader in
            try reader.rows("EXPLAIN QUERY PLAN " + OpenPayments.count(of: table), [.int(0)])
                .map { try $0.text("detail") }
        }
        #expect(plan.allSatisfy { $0.contains("\(table)Open") }, "\(plan)")
    }

    // MARK: - Looking up

    @Test func aMadeChargeIsFound() async throws {
        let made = try await charges.charge(request("op"))
        #expect(try await find("op") == made)
    }

    @Test func aDeclinedChargeIsFoundDeclined() async throws {
        let declined = request("op", token: "tok_chargeDeclined")
        #expect(await parseError { _ = try await charges.charge(declined) }?.code == .scriptFailed)
        #expect(await parseError { _ = try await find("op") }?.code == .scriptFailed)
    }

    @Test func aChargeThatWasNeverBegunIsGivenUp() async throws {
        for _ in 1...2 { #expect(await parseError { _ = try await find("op") } == .objectNotFound) }
        #expect(await parseError { _ = try await charges.charge(request("op")) }?.code == .validationError)
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCharges") == 0)
    }

    @Test func aChargeWhoseAnswerWasLostIsFoundWithoutChargingAgain() async throws {
        #expect(
            await parseError { _ = try await lossy(losesAnswers: true).charges.charge(request("op")) }?.code
                == .serviceUnavailable)
        let found = try await find("op")
        #expect(found.chargeID.hasPrefix("ch_"))
        #expect(try await charges.charge(request("op")) == found)
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCharges") == 1)
    }

    @Test func aChargeThatNeverReachedTheProviderIsGivenUpThereToo() async throws {
        let lost = lossy(losesAnswers: false).charges
        #expect(await parseError { _ = try await lost.charge(request("op")) }?.code == .serviceUnavailable)
        let find = FindChargeRequest.with { $0.operationID = "op" }
        // While the provider is unreachable, the outcome is unknown and nothing is given up.
        #expect(await parseError { _ = try await lost.find(find) }?.code == .serviceUnavailable)
        #expect(await parseError { _ = try await charges.find(find) } == .objectNotFound)
        #expect(await parseError { _ = try await charges.charge(request("op")) }?.code == .validationError)
        // The lost request arrives after all.
        let late = ChargeOrder(source: .token("tok_visa"), amountMinorUnits: 1999, currency: "usd", orderId: "order1")
        await #expect(throws: ProviderFailure.self) { try await provider.charge(late, key: "op") }
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCharges WHERE failure IS NULL") == 0)
    }

    @Test func whyAChargeIsUndecidedIsNotedUntilItIsDecided() async throws {
        let lost = lossy(losesAnswers: true).charges
        for _ in 1...2 { _ = await parseError { _ = try await lost.charge(request("op")) } }
        #expect(try await sandbox.count("SELECT attempts FROM openProblems WHERE operationId = 'op'") == 2)
        _ = try await charges.charge(request("op"))
        #expect(try await sandbox.count("SELECT count(*) FROM openProblems") == 0)
    }

    /// An event may decide a charge while the request that made it still waits for its answer.
    @Test func anAttemptThatEndsAfterTheDecisionNotesNoReason() async throws {
        var late = LossyProvider(provider, losesAnswers: true)
        late.meanwhile = { _ = try await charges.charge(request("op")) }
        let slow = Charges(store: sandbox.store, provider: late, logger: Logger(label: "test"))
        #expect(await parseError { _ = try await slow.charge(request("op")) }?.code == .serviceUnavailable)
        #expect(try await sandbox.count("SELECT count(*) FROM charges WHERE state = 'succeeded'") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM openProblems") == 0)
    }

    /// The bag has already given the order up.
    @Test func aChargeThatIsMadeAfterItWasAbandonedIsNoted() async throws {
        var late = LossyProvider(provider, losesAnswers: true)
        late.answersLate = true
        late.meanwhile = { [sandbox] in
            try await sandbox.store.write { _ = try $0.execute("UPDATE charges SET state = 'abandoned'") }
        }
        let slow = Charges(store: sandbox.store, provider: late, logger: Logger(label: "test"))
        #expect(await parseError { _ = try await slow.charge(request("op")) } != nil)
        #expect(try await sandbox.count("SELECT count(*) FROM openProblems WHERE problem LIKE 'LateCharge%'") == 1)
    }

    // MARK: - Giving back

    @Test func aRefundHappensOnce() async throws {
        _ = try await charges.charge(request("op"))
        let first = try await refunds.refund(back(500, of: "op", as: "r1"))
        #expect(first.refundID.hasPrefix("re_"))
        #expect(first.amountMinorUnits == 500)
        #expect(try await refunds.refund(back(500, of: "op", as: "r1")) == first)
        #expect(
            await parseError { _ = try await refunds.refund(back(501, of: "op", as: "r1")) }?.code == .validationError)
        #expect(try await moneyBack() == 500)
    }

    @Test func refundsNeverAddUpToMoreThanTheCharge() async throws {
        _ = try await charges.charge(request("op"))
        _ = try await refunds.refund(back(1000, of: "op", as: "r1"))
        #expect(
            await parseError { _ = try await refunds.refund(back(1000, of: "op", as: "r2")) }?.code == .validationError)
        let rest = try await refunds.refund(back(0, of: "op", as: "r3"))
        #expect(rest.amountMinorUnits == 999)
        #expect(try await refunds.refund(back(0, of: "op", as: "r3")) == rest)
        #expect(
            await parseError { _ = try await refunds.refund(back(0, of: "op", as: "r4")) }?.code == .validationError)
        #expect(try await moneyBack() == 1999)
    }

    @Test func simultaneousRefundsOfEverythingGiveItBackOnce() async throws {
        _ = try await charges.charge(request("op"))
        let succeeded = await withTaskGroup(of: Bool.self) { group in
            for index in 1...12 {
                group.addTask {
                    await parseError { _ = try await refunds.refund(back(0, of: "op", as: "r\(index % 4)")) } == nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(succeeded == 3)  // One of the four operations, repeated three times.
        #expect(try await moneyBack() == 1999)
    }

    @Test func nothingIsGivenBackOfAChargeThatWasNotMade() async throws {
        _ = await parseError { _ = try await charges.charge(request("declined", token: "tok_chargeDeclined")) }
        _ = await parseError { _ = try await find("given up") }
        for operation in ["declined", "given up", "unknown"] {
            #expect(
                await parseError { _ = try await refunds.refund(back(0, of: operation, as: "r")) } == .objectNotFound)
        }
        _ = await parseError { _ = try await lossy(losesAnswers: true).charges.charge(request("undecided")) }
        let error = await parseError { _ = try await refunds.refund(back(0, of: "undecided", as: "r")) }
        #expect(error?.code == .serviceUnavailable)
        #expect(try await moneyBack() == 0)
    }

    @Test(arguments: [true, false])
    func anUndecidedRefundIsFinishedInTheBackground(reachedTheProvider: Bool) async throws {
        _ = try await charges.charge(request("op"))
        let lost = lossy(losesAnswers: reachedTheProvider).refunds
        #expect(
            await parseError { _ = try await lost.refund(back(700, of: "op", as: "r1")) }?.code == .serviceUnavailable)
        #expect(try await moneyBack() == (reachedTheProvider ? 700 : 0))
        // While it is undecided, it reserves its part of the charge.
        #expect(
            await parseError { _ = try await refunds.refund(back(1500, of: "op", as: "r2")) }?.code == .validationError)

        let later = Timestamp.now.advanced(by: .seconds(16))
        try await lost.finishDue(at: later)
        #expect(try await sandbox.count("SELECT attempts FROM refunds WHERE state = 'created'") == 1)
        try await refunds.finishDue(at: .now.advanced(by: .seconds(1)))  // Postponed by the previous attempt.
        #expect(try await sandbox.count("SELECT count(*) FROM refunds WHERE state = 'created'") == 1)
        try await refunds.finishDue(at: later)
        #expect(try await sandbox.count("SELECT count(*) FROM refunds WHERE state = 'succeeded'") == 1)
        #expect(try await refunds.refund(back(700, of: "op", as: "r1")).amountMinorUnits == 700)
        #expect(try await moneyBack() == 700)
    }

    // MARK: - Deleted users

    @Test func aDeletedUserLosesTheCardsAndTheChargesLoseTheUser() async throws {
        let customer = try await provider.createCustomer(token: "tok_visa", email: "a@example.com", key: "k")
        let other = try await provider.createCustomer(token: "tok_amex", email: nil, key: "k2")
        try await sandbox.store.write {
            _ = try PaymentMethods.keep(customer, owner: "alice", in: $0)
            _ = try PaymentMethods.keep(other, owner: "bob", in: $0)
        }
        let made = try await charges.charge(request("op"))
        _ = await parseError { _ = try await lossy(losesAnswers: true).charges.charge(request("open")) }
        for _ in 1...2 { try await sandbox.store.write { try AccountDeletion.forget("alice", in: $0) } }
        #expect(try await sandbox.count("SELECT count(*) FROM forgottenCustomers") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM charges WHERE userId = ''") == 2)
        let left = try await sandbox.store.read {
            try $0.documents(Query(className: "PaymentMethod"), caller: .master)
        }
        #expect(left.map { $0["stripeCustomerId"] } == [.string(other.id)])
        try await CustomerDeletions.removeDue(sandbox.store, provider, Logger(label: "test"))
        #expect(
            try await sandbox.count("SELECT count(*) FROM sandboxCustomers WHERE deleted = 1 AND email IS NULL") == 1)
        // A checkout in progress still gets its outcome.
        #expect(try await charges.charge(request("op")) == made)
        #expect(try await charges.charge(request("open")).chargeID.hasPrefix("ch_"))
    }

    @Test func aChargeThatArrivesAfterTheDeletionHasNoUser() async throws {
        try await sandbox.store.write { try AccountDeletion.forget("alice", in: $0) }
        let made = try await charges.charge(request("op"))
        #expect(try await charges.charge(request("op")) == made)
        #expect(try await sandbox.count("SELECT count(*) FROM charges WHERE userId = ''") == 1)
    }
}
