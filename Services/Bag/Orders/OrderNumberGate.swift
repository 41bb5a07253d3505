import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import Synchronization

/// Blocks order numbering until the highest assigned number is known from this database, the mark file beside it and
/// payments. The highest of the three counts. If it is higher than the database's own number, the database lost
/// commits; the lost numbers are never assigned again.
package final class OrderNumberGate: Sendable {
    private let mark: OrderNumberMark
    private let logger: Logger
    private let isOpen = Mutex(false)
    private let disk = BlockingQueue("order-number-mark")

    package init(mark: OrderNumberMark, logger: Logger) {
        self.mark = mark
        self.logger = logger
    }

    /// Interval between requests to payments while the gate is closed.
    static let pause = Duration.milliseconds(250)

    /// Asks payments once and opens the gate. The writer calls it repeatedly until it succeeds.
    /// - Returns: whether the gate is open.
    func open(_ host: ServiceHost) async -> Bool {
        do {
            let reported = try await host.call(
                PaymentsCalls.highestOrder, HighestOrderRequest(), for: nil, timeout: .seconds(3)
            ).orderNumber
            try await open(host.store, reportedByPayments: reported)
            return true
        } catch {
            logger.warning(
                "Orders wait until the highest order number is known.", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// - Parameter reportedByPayments: the highest number known to payments; 0 for none.
    /// - Throws: when the mark or the database cannot be used.
    package func open(_ store: ClassStore, reportedByPayments: Int64) async throws {
        let marked = try await disk.run { [mark] in try mark.open() }
        let known = try await store.write(for: nil) { transaction in
            let known = try OrderNumbers.last(in: transaction)
            try OrderNumbers.raise(to: max(marked, reportedByPayments), in: transaction)
            return known
        }
        if max(marked, reportedByPayments) > known {
            logger.critical(
                """
                The database does not know the highest assigned order number: it lost commits. Lost numbers are not \
                assigned again.
                """,
                metadata: [
                    "order.known": "\(known)", "order.marked": "\(marked)", "order.payments": "\(reportedByPayments)",
                ])
        }
        isOpen.withLock { $0 = true }
    }

    /// - Throws: `.serviceUnavailable` (2) before the gate is open.
    func requireOpen() throws {
        guard isOpen.withLock(\.self) else {
            throw ParseError(.serviceUnavailable, "The highest order number is not known yet.")
        }
    }

    /// Records the number of a committed order.
    func record(_ number: Int64) {
        do {
            try mark.record(number)
        } catch {
            logger.error("An order's number could not be written to its mark file.", metadata: ["error": "\(error)"])
        }
    }
}
