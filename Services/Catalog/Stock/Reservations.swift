import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Stock that is reserved for running checkouts. Every message is idempotent by the reservation's id
/// (Shared/Messages/Protos/catalog.proto).
package struct Reservations: Sendable {
    let currency: Currency
    let logger: Logger

    package init(currency: Currency, logger: Logger) {
        self.currency = currency
        self.logger = logger
    }

    /// Takes the lines out of stock, all or nothing, and fixes their prices.
    /// - Throws: `.validationError` (142) when stock is short or the request exceeds a limit, `.objectNotFound` (101)
    ///   for a product that is not for sale.
    package func reserve(
        _ request: ReserveRequest, caller: Caller, in transaction: StoreTransaction
    ) throws -> ReserveReply {
        try Self.check(request)
        let id = request.reservationID
        let expiresAt = transaction.now.advanced(by: .seconds(Int64(request.lifetimeSeconds)))
        switch ReservationState.onReserve(try state(of: id, in: transaction)) {
        case .answerAsBefore: break
        case .extend: try extend(id, to: expiresAt, in: transaction)
        case .refuse: throw ParseError(.validationError, "This reservation was released.")
        case .takeStock:
            for (index, line) in request.lines.enumerated() {
                try take(line, index: index, for: request, caller: caller, in: transaction)
            }
            try set(id, .reserved, expiresAt: expiresAt, orderId: request.orderID, in: transaction)
        case .takeStockAgain:
            for line in try lines(of: id, in: transaction) {
                try takeAgain(line, for: id, in: transaction)
            }
            try set(id, .reserved, expiresAt: expiresAt, in: transaction)
        }
        let lines = try lines(of: id, in: transaction)
        return ReserveReply.with {
            $0.lines = lines.map(\.priced)
            $0.currency = currency.code
        }
    }

    /// Marks the goods as sold. Never refuses; see `ReservationState.onCommit`.
    package func commit(_ id: String, in transaction: StoreTransaction) throws {
        try Self.check(id)
        let state = try state(of: id, in: transaction)
        switch ReservationState.onCommit(state) {
        case .nothing: return
        case .remember: break
        case .takeRemaining:
            let lines = try lines(of: id, in: transaction)
            var missing = state == nil ? ["unknown reservation"] : []
            for line in lines {
                let lacking = try takeRemaining(line, for: id, in: transaction)
                if lacking > 0 { missing.append("\(lacking) x \(line.priced.productID)") }
            }
            if !missing.isEmpty {
                logger.error(
                    "A paid order was no longer reserved, and stock is missing for it.",
                    metadata: ["reservation.id": "\(id)", "reservation.missing": "\(missing.joined(separator: ", "))"])
            }
        }
        try set(id, .committed, in: transaction)
        if state == .reserved { try StockLedger.sell(id, in: transaction) }
    }

    /// Returns the goods to stock. An unknown id is recorded, so that a reservation that arrives later does nothing.
    package func release(_ id: String, in transaction: StoreTransaction) throws {
        try Self.check(id)
        switch ReservationState.onRelease(try state(of: id, in: transaction)) {
        case .nothing: return
        case .contradiction:
            logger.error("A sold reservation cannot be released.", metadata: ["reservation.id": "\(id)"])
            return
        case .putBack: try putBack(id, .released, in: transaction)
        case .remember: break
        }
        try set(id, .released, in: transaction)
    }

    private static let lifetimeSeconds: ClosedRange<UInt32> = 60...86_400

    /// The checkout may still run, so the stock is held as long as for a new one.
    static let waits = StoredWaits(
        "expiresAt", of: "reservations", atMost: .seconds(Int64(lifetimeSeconds.upperBound)), then: .seconds(3600),
        where: "state = '\(ReservationState.reserved.rawValue)'")

    /// Maximum reservations expired in one transaction, so that a backlog does not delay other writes.
    private static let expiredMax: Int64 = 100

    /// Returns the goods of expired reservations to stock.
    /// - Returns: true when more may remain.
    package func expire(in transaction: StoreTransaction) throws -> Bool {
        let due = try transaction.rows(
            "SELECT id FROM reservations WHERE state = ? AND expiresAt <= ? ORDER BY expiresAt LIMIT ?",
            [.text(ReservationState.reserved.rawValue), .int(transaction.now.milliseconds), .int(Self.expiredMax)]
        ).map { try $0.text("id") }
        for id in due {
            try putBack(id, .expired, in: transaction)
            try set(id, .expired, in: transaction)
        }
        return due.count == Self.expiredMax
    }

    /// While the catalog is unavailable, a checkout's message about its reservation waits in the outbox. A commit that
    /// arrives after 90 days finds an unknown reservation; it is logged and takes nothing out of stock.
    private static let keptFor = Duration.seconds(90 * 86_400)

    package func forgetOld(in transaction: StoreTransaction) throws {
        let old = try transaction.rows(
            "SELECT id FROM reservations WHERE changedAt < ? AND state <> ? ORDER BY changedAt LIMIT ?",
            [
                .int(transaction.now.milliseconds - Self.keptFor.components.seconds * 1000),
                .text(ReservationState.reserved.rawValue), .int(Self.expiredMax),
            ])
        for row in old {
            _ = try transaction.execute("DELETE FROM reservationLines WHERE reservationId = ?", [.text(row.text("id"))])
            _ = try transaction.execute("DELETE FROM reservations WHERE id = ?", [.text(row.text("id"))])
        }
    }
}

// MARK: - Bounds

extension Reservations {
    private static func check(_ request: ReserveRequest) throws {
        try check(request.reservationID)
        guard request.orderID.utf8.count <= 128 else {
            throw ParseError(.validationError, "An order's id has at most 128 bytes.")
        }
        guard (1...PriceList.linesMax).contains(request.lines.count) else {
            throw ParseError(.validationError, "An order has 1 to \(PriceList.linesMax) lines.")
        }
        guard request.lines.allSatisfy({ PriceList.quantities.contains($0.quantity) }) else {
            throw ParseError(.validationError, "A quantity must be a whole number from 1 to 999.")
        }
        guard lifetimeSeconds.contains(request.lifetimeSeconds) else {
            throw ParseError(.validationError, "A reservation lives for 60 to 86400 seconds.")
        }
    }

    private static func check(_ id: String) throws {
        guard (1...128).contains(id.utf8.count) else {
            throw ParseError(.validationError, "A reservation's id has 1 to 128 bytes.")
        }
    }
}
