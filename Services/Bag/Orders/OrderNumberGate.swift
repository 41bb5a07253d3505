import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// No order is numbered before it is known which numbers were given out: by this file, by the mark beside it and by
/// payments. The highest of the three counts. Numbers that this file does not know mean that it lost commits; they are
/// never given out again.
package final class OrderNumberGate: Sendable {
    private let mark: OrderNumberMark
    private let logger: Logger
    private let isOpen = Mutex(false)
    private let disk = BlockingQueue("order-number-mark")

    package init(mark: OrderNumberMark, logger: Logger) {
        self.mark = mark
        self.logger = logger
    }

    /// Between two questions to payments. No order is made meanwhile, so that it does not grow.
    static let pause = Duration.milliseconds(250)

    /// Asks payments once; done when this process became the writer, until payments answered.
    /// - Returns: whether it is open.
    func open(_ host: ServiceHost) async -> Bool {
        do {
            let heard = try await host.call(
                PaymentsCalls.highestOrder, HighestOrderRequest(), timeout: .seconds(3)
            ).orderNumber
            try await open(host.store, heardByPayments: heard)
            return true
        } catch {
            logger.warning(
                "Orders wait for payments to say which numbers were given out.", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// - Parameter heardByPayments: 0 when payments heard of no order.
    /// - Throws: when the mark or the database cannot be used.
    package func open(_ store: ClassStore, heardByPayments: Int64) async throws {
        let marked = try await disk.run { [mark] in try mark.open() }
        let known = try await store.write { transaction in
            let known = try OrderNumbers.last(in: transaction)
            try OrderNumbers.raise(to: max(marked, heardByPayments), in: transaction)
            return known
        }
        if max(marked, heardByPayments) > known {
            logger.critical(
                """
                Order numbers were given out that the database does not know: it lost commits. They are not given out \
                again.
                """,
                metadata: [
                    "order.known": "\(known)", "order.marked": "\(marked)", "order.payments": "\(heardByPayments)",
                ])
        }
        isOpen.withLock { $0 = true }
    }

    /// - Throws: `.serviceUnavailable` (2) before it is open.
    func requireOpen() throws {
        guard isOpen.withLock(\.self) else {
            throw ParseError(.serviceUnavailable, "Order numbers are being agreed upon.")
        }
    }

    /// Notes a number of an order that is committed.
    func given(_ number: Int64) {
        do {
            try mark.note(number)
        } catch {
            logger.error("An order's number could not be noted beside the database.", metadata: ["error": "\(error)"])
        }
    }
}
