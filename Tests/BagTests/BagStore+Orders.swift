import BagService
import Logging
import Messages
import ParseProtocol
import Synchronization

/// Paid orders, and their later steps.
extension BagStore {
    /// A bag whose customer u1 has an order of two soaps for 7.00. Returns also the order's id.
    static func paid(_ parameters: JSON = [:]) async throws -> (BagStore, String) {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        try await CheckoutLedgerTests.make(try await bag.start(parameters, by: "u1"), in: bag)
        bag.events.forget()
        return (bag, order)
    }

    /// Performs a step of an order, as an admin unless a customer is given.
    func perform(
        _ step: OrderLifecycle.Step, _ order: String, by userId: String? = nil, reason: String = "",
        restock: Bool = false
    ) async throws -> OrderLedger.Performed {
        try await orders.perform(
            .init(step, by: userId, reason: reason, restock: restock), order, contact: nil, for: nil)
    }

    /// Performs a step that refunds money. Returns the refund's id.
    func begin(
        _ step: OrderLifecycle.Step, _ order: String, reason: String = "", restock: Bool = false
    ) async throws -> String {
        guard case .waits(let id) = try await perform(step, order, reason: reason, restock: restock) else {
            throw ParseError.internalError
        }
        return id
    }

    /// Refunds pieces by their lines. Returns the refund's id.
    func begin(_ pieces: [String: Int], _ order: String, restock: Bool = false) async throws -> String {
        var request = OrderLedger.StepRequest(.refund(nil), by: nil, restock: restock)
        request.lines = RefundLines(pieces)
        guard case .waits(let id) = try await orders.perform(request, order, contact: nil, for: nil) else {
            throw ParseError.internalError
        }
        return id
    }

    func runner(_ payments: RefundPayments, email: String? = nil) -> RefundRunner {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return RefundRunner(ledger: refunds, steps: payments, logger: logger) { _ in
            email.map { CustomerContact(email: $0, isVerified: false) }
        }
    }
}

extension SendMailRequest {
    /// The values that its template shows.
    func values() throws -> JSON { try JSON(parsing: Array(model)) }
}

/// Payments that record the refunds by id.
final class RefundPayments: RefundStepping {
    struct Seen {
        var refunds: [String: Int64] = [:]
        var asked = 0
        var lost = 0
        /// The refunds of orders that were cancelled before.
        var ofCancelled: Set<String> = []
    }
    let seen: Mutex<Seen>
    private let refusal: ParseError?

    /// - Parameter lost: number of answers that are lost.
    init(lost: Int = 0, refusal: ParseError? = nil) {
        seen = Mutex(Seen(lost: lost))
        self.refusal = refusal
    }

    func refund(_ refund: Refund) async -> Result<String, CheckoutMachine.StepFailure> {
        seen.withLock { seen in
            seen.asked += 1
            if refusal == nil { seen.refunds[refund.id] = refund.amount }
            if refund.isOfCancelledOrder { seen.ofCancelled.insert(refund.id) }
            if seen.lost > 0 {
                seen.lost -= 1
                return .failure(.undecided)
            }
            return refusal.map { .failure(.refused($0)) } ?? .success("re_\(refund.id)")
        }
    }

    /// The amounts of all refunds.
    var total: Int64 { seen.withLock { $0.refunds.values.reduce(0, +) } }
}
