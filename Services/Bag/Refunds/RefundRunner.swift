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
    private let flights: SingleFlight<ParseError?>

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

    /// The state of a refund after the client's wait time.
    package enum Progress: Sendable, Equatable {
        case done
        case refused(ParseError)
        /// The refund continues.
        case pending
    }

    /// Joins or starts the refund and waits for its end.
    package func progress(of id: String, within limit: Duration) async -> Progress {
        switch await flights.outcome(of: id, within: limit, { [self] in await drive(id) }) {
        case .some(.some(let error)): .refused(error)
        case .some(.none): .done
        case .none: .pending
        }
    }

    /// Starts a stored refund that no request waits for.
    func begin(_ id: String) { flights.begin(id) { [self] in await drive(id) } }

    /// Continues interrupted refunds. Called when this process becomes the writer.
    /// - Throws: the store's errors; nothing was started then.
    package func resumeUnfinished() async throws {
        let ids = try await ledger.unfinished()
        for id in ids { begin(id) }
        if !ids.isEmpty { logger.notice("Refunds continue.", metadata: ["refund.count": "\(ids.count)"]) }
    }

    // MARK: - Performing

    /// Outer nil: the service stopped first, and all completed steps are stored. Otherwise the refund's result.
    private func drive(_ id: String) async -> ParseError?? {
        guard let (refund, point, customerId) = await load(id) else { return nil }
        var machine = RefundMachine(at: point)
        var action = machine.resume()
        while !Task.isCancelled {
            if case .answer(let problem) = action { return .some(problem) }
            action = await perform(action, of: refund, customerId, &machine)
        }
        if case .answer(let problem) = action { return .some(problem) }
        return nil
    }

    private func load(_ id: String) async -> (Refund, RefundMachine.Point, String)? {
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
            case .giveBack: return machine.answered(await steps.giveBack(refund))
            case .finish(let providerId):
                try await ledger.finish(refund, providerId: providerId, contact: await contact(customerId))
                logger.info("An order was refunded.", metadata: metadata)
                return machine.stored()
            case .fail(let error):
                try await ledger.fail(refund, error)
                logger.error("A refund was refused.", metadata: metadata.merging(["error": "\(error)"]) { $1 })
                return machine.stored()
            case .wait(let pause):
                logger.warning("A refund waits.", metadata: metadata.merging(["pause": "\(pause)"]) { $1 })
                try? await Task.sleep(for: pause)
                return machine.waited()
            case .answer: return action
            }
        } catch is StepAlreadyTaken {
            guard let (_, point, _) = await load(refund.id) else { return machine.notStored() }
            machine = RefundMachine(at: point)
            return machine.resume()
        } catch {
            logger.error(
                "A refund's result could not be stored.", metadata: metadata.merging(["error": "\(error)"]) { $1 })
            return machine.notStored()
        }
    }
}
