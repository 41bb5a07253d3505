import Logging
import ParseProtocol
import ProcessKit
import ServiceKit
import Synchronization

/// Drives checkouts to their end, each in one task that continues when no client waits any more. With several
/// processes, one process leases each checkout (`CheckoutLeases`), and the others poll for the outcome.
package final class CheckoutRunner: Sendable {
    private let ledger: CheckoutLedger
    private let steps: any CheckoutStepping
    private let logger: Logger
    private let flights: SingleFlight<CheckoutAnswer>
    private let rounds = UnfinishedRounds()
    /// How long a checkout may remain undecided before it is given up.
    private let undecidedMax: Duration
    /// Checkouts that their customers gave up, until they are decided. Their drivers may already run.
    private let givenUpIds = Mutex<Set<String>>([])

    /// Longer than a working provider needs, and shorter than customers wait before they try again. The bag is frozen
    /// meanwhile.
    package static let undecidedStandard = Duration.seconds(900)

    package init(
        ledger: CheckoutLedger, steps: any CheckoutStepping, undecidedMax: Duration = undecidedStandard,
        background: BackgroundGroup = BackgroundGroup(), logger: Logger
    ) {
        flights = SingleFlight(background: background)
        self.ledger = ledger
        self.steps = steps
        self.undecidedMax = undecidedMax
        self.logger = logger
    }

    /// `SATCHEL_PAYMENT_UNDECIDED_SECONDS`
    /// - Throws: `StartupProblem`.
    static func undecidedMax(_ settings: Settings) throws(StartupProblem) -> Duration {
        .seconds(
            try settings.number(
                "satchel.payment.undecided.seconds", 1...86_400, default: Int(undecidedStandard.components.seconds)))
    }

    /// Joins or starts the checkout and waits for its end. Nil in two cases: the checkout is not decided within `limit`
    /// (it continues in the background), or the customer has to confirm the charge.
    package func outcome(of id: String, within limit: Duration) async -> CheckoutOutcome? {
        guard case .decided(let outcome)? = await answer(of: id, within: limit) else { return nil }
        return outcome
    }

    /// Joins or starts the checkout and waits until it ends or its customer has to confirm the charge.
    package func answer(of id: String, within limit: Duration) async -> CheckoutAnswer? {
        await flights.outcome(of: id, within: limit) { [self] in await drive(id) }
    }

    /// As `answer`, but ends a checkout whose customer has to confirm the charge, unless the charge was made.
    package func giveUp(_ id: String, within limit: Duration) async -> CheckoutAnswer? {
        givenUpIds.withLock { _ = $0.insert(id) }
        return await flights.outcome(of: id, within: limit) { [self] in await drive(id, givesUp: true) }
    }

    /// Time between two rounds of `pollUnconfirmedCharges`.
    static let roundPause = Duration.seconds(5)
    /// How long a round waits for one checkout.
    private static let roundWaitMax = Duration.seconds(2)

    /// Asks payments about each charge that its customer has to confirm: the customer may never come back.
    /// - Throws: the store's errors.
    package func pollUnconfirmedCharges() async throws {
        var ids = try await ledger.awaitingConfirmation()[...]
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.concurrentMax { pollNext(of: &ids, in: &group) }
            while await group.next() != nil, !Task.isCancelled { pollNext(of: &ids, in: &group) }
        }
    }

    /// Checkouts polled concurrently, so that a charge without an answer does not delay all others.
    private static let concurrentMax = 8

    private func pollNext(of ids: inout ArraySlice<String>, in group: inout TaskGroup<Void>) {
        guard let id = ids.popFirst() else { return }
        group.addTask { [self] in _ = await answer(of: id, within: Self.roundWaitMax) }
    }

    /// Drives a checkout that was just stored. Called on the writer thread, before its next commit. If a driver of the
    /// checkout already runs, because the request arrived twice, nothing is started.
    package func begin(_ checkout: Checkout) {
        flights.begin(checkout.id) { [self] in await drive(CheckoutRecord(checkout)) }
    }

    /// Continues interrupted checkouts. Called when this process becomes the writer, and periodically where it may not
    /// know of each stored one.
    /// - Throws: the store's errors; nothing was started then.
    package func resumeUnfinished() async throws {
        let ids = try await ledger.unfinished()
        // With leases, these are the checkouts that no process drives.
        let due = ledger.leases == nil ? rounds.due(ids) : ids
        let count = due.count { id in flights.begin(id) { [self] in await drive(id) } }
        if count > 0 {
            logger.notice("Interrupted checkouts are resumed.", metadata: ["checkout.count": "\(count)"])
        }
    }

    // MARK: - Performing

    /// Polling interval for a checkout that another process drives.
    private static let pollInterval = Duration.milliseconds(50)

    /// - Returns: nil when the service stops before the checkout ends.
    private func drive(_ id: String, givesUp: Bool = false) async -> CheckoutAnswer? {
        while !Task.isCancelled {
            let isOurs = await takeLease(id)
            // Read after the lease was taken: no other process stores a step of this checkout meanwhile.
            guard let record = await load(id) else { return nil }
            if case .decided(let outcome) = record.state {
                givenUpIds.withLock { _ = $0.remove(id) }
                return .decided(outcome)
            }
            if isOurs { return await drive(record, givesUp: givesUp) }
            try? await Task.sleep(for: Self.pollInterval)
        }
        return nil
    }

    /// Drives a checkout while this process holds its lease.
    private func drive(_ record: CheckoutRecord, givesUp: Bool = false) async -> CheckoutAnswer? {
        guard let leases = ledger.leases else { return await runSteps(record, givesUp) }
        let checkout = record.checkout
        let outcome = await withTaskGroup(of: CheckoutAnswer?.self) { group in
            group.addTask { [self] in await runSteps(record, givesUp) }
            group.addTask { [self] in
                repeat { try? await Task.sleep(for: leases.pause) } while await renewLease(checkout.id)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if case .decided? = outcome { return outcome }
        // The customer has to confirm the charge, the task was cancelled, or another process took over the checkout. No
        // renewal runs any more.
        try? await ledger.releaseLease(checkout.id)
        if let outcome { return outcome }
        return Task.isCancelled ? nil : await drive(checkout.id)
    }

    /// - Returns: whether this process still holds the checkout's lease.
    private func renewLease(_ id: String) async -> Bool {
        guard !Task.isCancelled else { return false }
        do {
            return try await ledger.takeLease(id)
        } catch {
            return true  // The database is unavailable, also for the other processes.
        }
    }

    private func takeLease(_ id: String) async -> Bool {
        do {
            return try await ledger.takeLease(id)
        } catch {
            logger.error("A checkout could not be leased.", metadata: ["checkout.id": "\(id)", "error": "\(error)"])
            return false
        }
    }

    private func runSteps(_ record: CheckoutRecord, _ givesUp: Bool) async -> CheckoutAnswer? {
        var (machine, action) = self.machine(for: record, givesUp)
        while !Task.isCancelled {
            if case .answer(let outcome) = action {
                givenUpIds.withLock { _ = $0.remove(record.checkout.id) }
                return .decided(outcome)
            }
            if case .awaitConfirmation(let secret) = action {
                if givenUpIds.withLock({ $0.contains(record.checkout.id) }) {
                    action = machine.giveUp(Self.givenUp)
                    continue
                }
                if await storeAwaitsConfirmation(record.checkout) {
                    return .needsConfirmation(orderId: record.checkout.orderId, clientSecret: secret)
                }
                action = machine.notStored()
            }
            action = await perform(action, of: record.checkout, &machine)
        }
        if case .answer(let outcome) = action { return .decided(outcome) }
        return nil
    }

    /// - Returns: whether it is stored that the customer has to confirm the charge.
    private func storeAwaitsConfirmation(_ checkout: Checkout) async -> Bool {
        do {
            try await ledger.awaitConfirmation(checkout)
            return true
        } catch {
            logger.error(
                "The checkout could not be marked as awaiting confirmation.",
                metadata: ["checkout.id": "\(checkout.id)", "error": "\(error)"])
            return false
        }
    }

    /// The error of a checkout that its customer gave up instead of confirming the charge.
    private static let givenUp = ParseError(
        .scriptFailed, "The payment was given up; nothing was charged.",
        details: ["type": "api_error", "code": "payment_given_up"])

    /// Less than a reservation's lifetime: an older one is renewed before payments is asked.
    private static let reservationHolds = Duration.seconds(3000)

    private func machine(
        for record: CheckoutRecord, _ givesUp: Bool = false
    ) -> (CheckoutMachine, CheckoutMachine.Action) {
        // If the wall clock was changed, the limit becomes longer or shorter, which is harmless.
        let age = min(max(record.age, .zero), undecidedMax)
        var machine = CheckoutMachine(
            record.checkout, at: record.state, timeLeft: undecidedMax - age,
            awaitsConfirmation: record.awaitsConfirmation && age < Self.reservationHolds)
        let action =
            if record.isCustomerDeleted {
                machine.giveUp(AccountDeletion.refusal)
            } else if givesUp, record.awaitsConfirmation {
                machine.giveUp(Self.givenUp)
            } else {
                machine.resume()
            }
        return (machine, action)
    }

    private func load(_ id: String) async -> CheckoutRecord? {
        while !Task.isCancelled {
            do {
                return try await ledger.load(id)
            } catch {
                logger.error("A checkout could not be read.", metadata: ["checkout.id": "\(id)", "error": "\(error)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
        return nil
    }

    private func perform(
        _ action: CheckoutMachine.Action, of checkout: Checkout, _ machine: inout CheckoutMachine
    ) async -> CheckoutMachine.Action {
        do {
            switch action {
            case .reserve(let products):
                return machine.reservationAnswered(await steps.reserve(products, for: checkout))
            case .charge(let order): return machine.chargeAnswered(await steps.charge(order, for: checkout))
            case .findCharge: return machine.chargeFound(await steps.findCharge(for: checkout))
            case .store(let state):
                try await ledger.store(state, of: checkout)
                return machine.stored()
            case .placeOrder(let order, let chargeId):
                let outcome = try await ledger.placeOrder(checkout, order, chargeId: chargeId)
                let isPlaced = (try? outcome.get()) != nil
                logger.info(
                    isPlaced
                        ? "An order was placed."
                        : "A checkout ended without an order, because the account was deleted; any charge is refunded.",
                    metadata: ["order.id": "\(checkout.orderId)", "checkout.id": "\(checkout.id)"])
                return machine.decided(outcome)
            case .fail(let error, let holdsStock):
                let outcome = try await ledger.fail(checkout, error)
                logger.info(
                    "A checkout failed.", metadata: ["checkout.id": "\(checkout.id)", "code": "\(error.code.rawValue)"])
                if holdsStock { await steps.tryRelease(checkout) }
                return machine.decided(outcome)
            case .wait(let pause):
                logger.warning(
                    "A step of a checkout failed and will be retried.",
                    metadata: ["checkout.id": "\(checkout.id)", "pause": "\(pause)"])
                try? await Task.sleep(for: pause)
                // Meanwhile an operator may have freed the bag, or the account may have been deleted.
                guard let record = try? await ledger.load(checkout.id) else { return machine.waited() }
                if case .decided(let outcome) = record.state { return machine.decided(outcome) }
                return record.isCustomerDeleted ? machine.giveUp(AccountDeletion.refusal) : machine.waited()
            case .answer, .awaitConfirmation: return action
            }
        } catch is StepAlreadyTaken {
            guard let record = await load(checkout.id) else { return machine.notStored() }
            let (present, next) = self.machine(for: record)
            machine = present
            return next
        } catch let error as ParseError where action.isPlaceOrder && error.code != .serviceUnavailable {
            // The store refuses the order, and a retry alone will not change that: an operator has to act. The driver
            // keeps retrying, so the order is placed once the cause is removed.
            logger.critical(
                "A checkout's order cannot be placed; the driver keeps retrying.",
                metadata: [
                    "checkout.id": "\(checkout.id)", "order.id": "\(checkout.orderId)", "error": "\(error)",
                ])
            return machine.notStored()
        } catch {
            logger.error(
                "A checkout's step could not be stored.",
                metadata: ["checkout.id": "\(checkout.id)", "error": "\(error)"])
            return machine.notStored()
        }
    }
}

extension CheckoutMachine.Action {
    fileprivate var isPlaceOrder: Bool {
        if case .placeOrder = self { true } else { false }
    }
}
