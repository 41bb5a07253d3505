import Logging
import ParseProtocol
import ServiceKit

/// Drives checkouts to their end, each by one task, whoever still waits for it. Where several processes do, each
/// checkout is one's turn (`CheckoutTurns`), and the others look how it ended.
package final class CheckoutRunner: Sendable {
    private let ledger: CheckoutLedger
    private let steps: any CheckoutStepping
    private let logger: Logger
    private let flights: SingleFlight<CheckoutOutcome>

    package init(
        ledger: CheckoutLedger, steps: any CheckoutStepping, background: BackgroundGroup = BackgroundGroup(),
        logger: Logger
    ) {
        flights = SingleFlight(background: background)
        self.ledger = ledger
        self.steps = steps
        self.logger = logger
    }

    /// Joins the checkout, or sets it going, and waits for its end. Nil when it is not decided within `limit`; it goes
    /// on then.
    package func outcome(of id: String, within limit: Duration) async -> CheckoutOutcome? {
        await flights.outcome(of: id, within: limit) { [self] in await drive(id) }
    }

    /// Sets a checkout going that was just stored. Called on the writer's thread before its next commit: whoever drives
    /// it already, because the same request came twice, cannot have stored a step of it yet, and is left to it.
    package func begin(_ checkout: Checkout) {
        flights.begin(checkout.id) { [self] in await drive(checkout, from: .started) }
    }

    /// Goes on with what a crash interrupted. Called when this process became the writer, and from time to time where
    /// another one may have died.
    /// - Throws: what the store throws; then nothing was begun.
    package func resumeUnfinished() async throws {
        let ids = try await ledger.unfinished()
        for id in ids { flights.begin(id) { [self] in await drive(id) } }
        if !ids.isEmpty { logger.notice("Checkouts go on.", metadata: ["checkout.count": "\(ids.count)"]) }
    }

    // MARK: - Performing

    /// Between two looks at a checkout that another process drives.
    private static let lookPause = Duration.milliseconds(50)

    /// Nil when the service stops first; what was done is stored.
    private func drive(_ id: String) async -> CheckoutOutcome? {
        while !Task.isCancelled {
            let isOurs = await take(id)
            // Read after the turn was taken: nobody stores a step of it beside us.
            guard let record = await load(id) else { return nil }
            if case .decided(let outcome) = record.point { return outcome }
            if isOurs { return await drive(record.checkout, from: record.point) }
            try? await Task.sleep(for: Self.lookPause)
        }
        return nil
    }

    /// Drives a checkout that is this process's turn, for as long as it is.
    private func drive(_ checkout: Checkout, from point: RecoveryPoint) async -> CheckoutOutcome? {
        guard let turns = ledger.turns else { return await take(steps: checkout, from: point) }
        let outcome = await withTaskGroup(of: CheckoutOutcome?.self) { group in
            group.addTask { [self] in await take(steps: checkout, from: point) }
            group.addTask { [self] in
                repeat { try? await Task.sleep(for: turns.pause) } while await keep(checkout.id)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        if let outcome { return outcome }
        // Told to end, or another process took it over.
        try? await ledger.give(checkout.id)
        return Task.isCancelled ? nil : await drive(checkout.id)
    }

    /// Whether the checkout stays this process's turn.
    private func keep(_ id: String) async -> Bool {
        guard !Task.isCancelled else { return false }
        do {
            return try await ledger.take(id)
        } catch {
            return true  // The database is away, for the others as well.
        }
    }

    private func take(_ id: String) async -> Bool {
        do {
            return try await ledger.take(id)
        } catch {
            logger.error("A checkout could not be taken.", metadata: ["checkout.id": "\(id)", "error": "\(error)"])
            return false
        }
    }

    private func take(steps checkout: Checkout, from point: RecoveryPoint) async -> CheckoutOutcome? {
        var machine = CheckoutMachine(checkout, at: point)
        var action = machine.resume()
        while !Task.isCancelled {
            if case .answer(let outcome) = action { return outcome }
            action = await perform(action, of: checkout, &machine)
        }
        if case .answer(let outcome) = action { return outcome }
        return nil
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
            case .store(let point):
                try await ledger.store(point, of: checkout)
                return machine.stored()
            case .make(let order, let chargeId):
                let outcome = try await ledger.make(checkout, order, chargeId: chargeId)
                logger.info(
                    "An order was made.",
                    metadata: ["order.id": "\(checkout.orderId)", "checkout.id": "\(checkout.id)"])
                return machine.decided(outcome)
            case .fail(let error, let holdsStock):
                let outcome = try await ledger.fail(checkout, error)
                logger.info(
                    "A checkout failed.", metadata: ["checkout.id": "\(checkout.id)", "code": "\(error.code.rawValue)"])
                if holdsStock { await steps.releaseSoon(checkout) }
                return machine.decided(outcome)
            case .wait(let pause):
                logger.warning("A checkout waits.", metadata: ["checkout.id": "\(checkout.id)", "pause": "\(pause)"])
                try? await Task.sleep(for: pause)
                return machine.waited()
            case .answer: return action
            }
        } catch is StepTaken {
            guard let record = await load(checkout.id) else { return machine.notStored() }
            machine = CheckoutMachine(record.checkout, at: record.point)
            return machine.resume()
        } catch let error as ParseError where action.isMake && error.code != .serviceUnavailable {
            // The money is taken, and waiting does not cure this.
            logger.critical(
                "A paid order cannot be made.",
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
    fileprivate var isMake: Bool {
        if case .make = self { true } else { false }
    }
}
