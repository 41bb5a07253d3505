import Logging
import ParseProtocol
import ServiceKit

/// Drives refunds to their end, each in one task of the writing process that continues when no client waits any more.
package final class RefundRunner: Sendable {
    /// A customer's current address; nil when it is unknown.
    package typealias Contact = @Sendable (_ customerId: String) async -> CustomerContact?

    let ledger: RefundLedger
    private let steps: any RefundStepping
    private let contact: Contact
    private let logger: Logger
    private let flights: SingleFlight<RefundMachine.Outcome>
    private let rounds = UnfinishedRounds()

    package init(
        ledger: RefundLedger, steps: any RefundStepping, background: BackgroundGroup = BackgroundGroup(),
        logger: Logger, contact: @escaping Contact
    ) {
        flights = SingleFlight(background: background)
        self.ledger = ledger
        self.steps = steps
        self.logger = logger
        self.contact = contact
    }

    /// Joins or starts the refund and waits for its end. Nil when it is not decided within `limit`; it continues in the
    /// background.
    package func outcome(of id: String, within limit: Duration) async -> RefundMachine.Outcome? {
        await flights.outcome(of: id, within: limit) { [self] in await drive(id) }
    }

    /// Starts a stored refund that no request waits for.
    /// - Returns: false when it runs already.
    @discardableResult func begin(_ id: String) -> Bool { flights.begin(id) { [self] in await drive(id) } }

    /// Continues interrupted refunds. Called when this process becomes the writer, and periodically where it may not
    /// know of each stored one.
    /// - Throws: the store's errors; nothing was started then.
    package func resumeUnfinished() async throws {
        let count = rounds.due(try await ledger.unfinished()).count { begin($0) }
        if count > 0 {
            logger.notice("Interrupted refunds are resumed.", metadata: ["refund.count": "\(count)"])
        }
    }

    // MARK: - Performing

    /// Nil when the service stops before the end; completed steps are stored.
    private func drive(_ id: String) async -> RefundMachine.Outcome? {
        guard let (refund, state, customerId) = await load(id) else { return nil }
        var machine = RefundMachine(at: state)
        var action = machine.resume()
        while !Task.isCancelled {
            if case .answer(let outcome) = action { return outcome }
            action = await perform(action, of: refund, customerId, &machine)
        }
        if case .answer(let outcome) = action { return outcome }
        return nil
    }

    private func load(_ id: String) async -> (Refund, RefundMachine.StoredState, String)? {
        while !Task.isCancelled {
            do {
                return try await ledger.load(id)
            } catch {
                logger.error("A refund could not be read.", metadata: ["refund.id": "\(id)", "error": "\(error)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
        return nil
    }

    private func perform(
        _ action: RefundMachine.Action, of refund: Refund, _ customerId: String, _ machine: inout RefundMachine
    ) async -> RefundMachine.Action {
        let metadata: Logger.Metadata = ["refund.id": "\(refund.id)", "order.id": "\(refund.orderId)"]
        do {
            switch action {
            case .refund: return machine.answered(await steps.refund(refund))
            case .finish(let providerId):
                try await ledger.finish(refund, providerId: providerId, contact: await contact(customerId))
                logger.info("An order was refunded.", metadata: metadata)
                return machine.stored()
            case .fail(let error):
                try await ledger.fail(refund, error)
                logger.error("A refund was refused.", metadata: metadata.merging(["error": "\(error)"]) { $1 })
                return machine.stored()
            case .wait(let pause):
                logger.warning(
                    "A step of a refund failed and will be retried.",
                    metadata: metadata.merging(["pause": "\(pause)"]) { $1 })
                try? await Task.sleep(for: pause)
                return machine.waited()
            case .answer: return action
            }
        } catch is StepAlreadyTaken {
            guard let (_, state, _) = await load(refund.id) else { return machine.notStored() }
            machine = RefundMachine(at: state)
            return machine.resume()
        } catch {
            logger.error(
                "A refund's result could not be stored.", metadata: metadata.merging(["error": "\(error)"]) { $1 })
            return machine.notStored()
        }
    }
}
