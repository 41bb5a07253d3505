import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Stock that is out for orders on their way. Every message is idempotent by the reservation's id
/// (Shared/Messages/Protos/catalog.proto).
package struct Reservations: Sendable {
    let currency: Currency
    let logger: Logger

    package init(currency: Currency, logger: Logger) {
        self.currency = currency
        self.logger = logger
    }

    /// Takes the lines out of stock, all or nothing, and fixes their prices.
    /// - Throws: `.validationError` (142) when stock is short or the request is out of bounds, `.objectNotFound` (101)
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
                try take(line, index: index, for: id, caller: caller, in: transaction)
            }
            try set(id, .reserved, expiresAt: expiresAt, in: transaction)
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

    /// The goods are sold. Never fails for a reason of ours; see `ReservationState.onCommit`.
    package func commit(_ id: String, in transaction: StoreTransaction) throws {
        try Self.check(id)
        let state = try state(of: id, in: transaction)
        switch ReservationState.onCommit(state) {
        case .nothing: return
        case .remember: break
        case .takeWhatIsLeft:
            let lines = try lines(of: id, in: transaction)
            var missing = state == nil ? ["unknown reservation"] : []
            for line in lines {
                let lacking = try takeWhatIsLeft(line, for: id, in: transaction)
                if lacking > 0 { missing.append("\(lacking) x \(line.priced.productID)") }
            }
            if !missing.isEmpty {
                logger.error(
                    "A paid order was no longer reserved, and stock is missing for it.",
                    metadata: ["reservation.id": "\(id)", "reservation.missing": "\(missing.joined(separator: ", "))"])
            }
        }
        try set(id, .committed, in: transaction)
    }

    /// Back to stock. An unknown id is remembered, so that a reservation that arrives later does nothing.
    package func release(_ id: String, in transaction: StoreTransaction) throws {
        try Self.check(id)
        switch ReservationState.onRelease(try state(of: id, in: transaction)) {
        case .nothing: return
        case .contradiction:
            logger.error("A sold reservation cannot be released.", metadata: ["reservation.id": "\(id)"])
            return
        case .putBack: try putBack(id, in: transaction)
        case .remember: break
        }
        try set(id, .released, in: transaction)
    }

    /// Reservations returned in one transaction, so that a backlog does not hold up other writes.
    private static let expiredMax: Int64 = 100

    /// Returns reservations whose time is up to stock.
    /// - Returns: true when there may be more.
    package func expire(in transaction: StoreTransaction) throws -> Bool {
        let due = try transaction.rows(
            "SELECT id FROM reservations WHERE state = ? AND expiresAt <= ? ORDER BY expiresAt LIMIT ?",
            [.text(ReservationState.reserved.rawValue), .int(transaction.now.milliseconds), .int(Self.expiredMax)]
        ).map { try $0.text("id") }
        for id in due {
            try putBack(id, in: transaction)
            try set(id, .expired, in: transaction)
        }
        return due.count == Self.expiredMax
    }

    /// A checkout's message about its reservation waits in the outbox for as long as the catalog cannot be reached. A
    /// commit that comes after 90 days finds an unknown reservation, which is logged, and takes nothing out of stock.
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
        guard (1...PriceList.linesMax).contains(request.lines.count) else {
            throw ParseError(.validationError, "An order has 1 to \(PriceList.linesMax) lines.")
        }
        guard request.lines.allSatisfy({ PriceList.quantities.contains($0.quantity) }) else {
            throw ParseError(.validationError, "A quantity must be a whole number from 1 to 999.")
        }
        guard (60...86_400).contains(request.lifetimeSeconds) else {
            throw ParseError(.validationError, "A reservation lives for 60 to 86400 seconds.")
        }
    }

    private static func check(_ id: String) throws {
        guard (1...128).contains(id.utf8.count) else {
            throw ParseError(.validationError, "A reservation's id has 1 to 128 bytes.")
        }
    }
}
