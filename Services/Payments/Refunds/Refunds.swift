import Logging
import Messages
import ObjectStore
import ParseProtocol

/// `payments.refund.v1`: refunds once per operation id. A refund that is undecided after the sender's own attempt is
/// finished in the background, so an accepted refund needs no further request.
package struct Refunds: Sendable {
    private let store: ClassStore
    private let provider: any PaymentProvider
    private let logger: Logger

    package init(store: ClassStore, provider: any PaymentProvider, logger: Logger) {
        self.store = store
        self.provider = provider
        self.logger = logger
    }

    /// - Throws: `.objectNotFound` (101), `.validationError` (142) and `.scriptFailed` (141) as documented for the
    ///   message, and `.serviceUnavailable` (2) while the refund is undecided.
    package func refund(_ request: RefundRequest, for share: WorkShare?) async throws -> RefundReply {
        guard Charges.operationIdBytes.contains(request.operationID.utf8.count), request.amountMinorUnits >= 0 else {
            throw ParseError(.validationError, "A refund needs an operation id and an amount that is not negative.")
        }
        let outcome: RefundOutcome
        do {
            switch try await store.write(for: share, { try RefundLedger.begin(request, in: $0) }) {
            case .answer(let stored): outcome = stored
            case .askProvider(let order): outcome = try await ask(request.operationID, order, share)
            }
        } catch let error as ParseError where error.code == .validationError || error.code == .objectNotFound {
            throw error
        } catch {
            throw ParseError(.serviceUnavailable, "The refund is being processed. Ask again in a moment.")
        }
        switch outcome {
        case .succeeded(let refund, let amount):
            return RefundReply.with {
                $0.refundID = refund.id
                $0.amountMinorUnits = amount
            }
        case .refused(let failure): throw failure.parseError
        }
    }

    private func ask(
        _ operationId: String, _ order: RefundOrder, _ share: WorkShare?
    ) async throws -> RefundOutcome {
        do {
            let outcome: Result<ProviderRefund, ProviderFailure>
            do {
                outcome = .success(try await provider.refund(order, key: operationId, for: share))
            } catch let failure as ProviderFailure {
                logger.error(
                    "A refund is refused.",
                    metadata: ["refund.operation": "\(operationId)", "refund.code": "\(failure.code)"])
                outcome = .failure(failure)
            }
            return try await store.write(for: share) { try RefundLedger.decide(operationId, outcome, in: $0) }
        } catch {
            logger.error(
                "A refund is undecided.", metadata: ["refund.operation": "\(operationId)", "error": "\(error)"])
            await UndecidedReasons.note(operationId, error, in: store, for: share, logger)
            throw error
        }
    }

    // MARK: - In the background

    static let pause = Duration.seconds(1)
    /// Concurrent requests; each may take as long as the provider's timeout.
    private static let batchMax: Int64 = 16

    /// Runs one round; only the writer does. Each refund is postponed before it is requested, so that a crash cannot
    /// shorten the backoff.
    package func finishDue(at now: Timestamp = .now) async throws {
        let due = try await store.read(for: nil) { try RefundLedger.due(at: now, limit: Self.batchMax, in: $0) }
        guard !due.isEmpty else { return }
        try await store.write(for: nil) { transaction in
            for (operationId, _) in due { try RefundLedger.postpone(operationId, in: transaction) }
        }
        await withTaskGroup(of: Void.self) { group in
            for (operationId, order) in due { group.addTask { _ = try? await ask(operationId, order, nil) } }
        }
    }
}
