import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit

/// The figures of the suite for operators: each minute of the last day, and each hour of the last 30 days. Each gateway
/// has its own rows, which are added up when they are read.
package enum PastFigures {
    /// The length of a row's time, in minutes.
    package enum Span: Int64, CaseIterable, Sendable {
        case minute = 1
        case hour = 60

        /// Minutes after which a row is removed.
        fileprivate var kept: Int64 { self == .minute ? 24 * 60 : 30 * 24 * 60 }
    }

    /// Rows of the same time. A gateway has the name of its place, so a restart adds none.
    private static let gatewaysMax: Int64 = 64
    private static let minuteMilliseconds: Int64 = 60_000

    /// Adds figures to the current minute and hour, and removes old rows.
    /// - Parameter now: nil for now.
    /// - Throws: `.validationError` (142) for too many gateways.
    package static func keep(
        _ row: FigureRow, of gateway: String, at now: Timestamp? = nil, in transaction: StoreTransaction
    ) throws {
        let minute = (now ?? transaction.now).milliseconds / minuteMilliseconds
        for span in Span.allCases {
            let startsAt = minute - minute % span.rawValue
            let place: [SQLValue] = [.int(span.rawValue), .int(startsAt)]
            let sum = try known(place, gateway, in: transaction).map { known in
                var sum = known
                sum.follow(row)
                return sum
            }
            if sum == nil { try requireRoom(place, in: transaction) }
            _ = try transaction.execute(
                """
                INSERT INTO pastFigures(span, startsAt, gateway, figures) VALUES (?, ?, ?, ?)
                ON CONFLICT(span, startsAt, gateway) DO UPDATE SET figures = excluded.figures
                """, place + [.text(gateway), .text((sum ?? row).json.serializedText)])
            // Rows of the future are of a clock that was wrong.
            _ = try transaction.execute(
                "DELETE FROM pastFigures WHERE span = ? AND (startsAt <= ? OR startsAt > ?)",
                [.int(span.rawValue), .int(startsAt - span.kept), .int(startsAt + span.rawValue)])
        }
    }

    private static func known(
        _ place: [SQLValue], _ gateway: String, in transaction: StoreTransaction
    ) throws -> FigureRow? {
        let rows = try transaction.rows(
            "SELECT figures FROM pastFigures WHERE span = ? AND startsAt = ? AND gateway = ?",
            place + [.text(gateway)])
        return try rows.first.flatMap { FigureRow(stored: try $0.text("figures")) }
    }

    private static func requireRoom(_ place: [SQLValue], in transaction: StoreTransaction) throws {
        let rows = try transaction.rows(
            "SELECT count(*) AS count FROM pastFigures WHERE span = ? AND startsAt = ?", place)
        guard try rows.first?.int("count") ?? 0 < gatewaysMax else {
            throw ParseError(.validationError, "There are figures of \(gatewaysMax) gateways.")
        }
    }

    /// The rows of the last minutes, oldest first, of all gateways together.
    package static func all(
        _ span: Span, minutes: Int64, now: Timestamp = .now, _ reader: ObjectReader
    ) throws -> JSON {
        let since = now.milliseconds / minuteMilliseconds - minutes
        let rows = try reader.rows(
            "SELECT startsAt, figures FROM pastFigures WHERE span = ? AND startsAt > ? ORDER BY startsAt, gateway",
            [.int(span.rawValue), .int(since)])
        var points: [(startsAt: Int64, figures: FigureRow)] = []
        for row in rows {
            let startsAt = try row.int("startsAt")
            guard let figures = FigureRow(stored: try row.text("figures")) else { continue }
            if points.last?.startsAt == startsAt {
                points[points.count - 1].figures.join(figures)
            } else {
                points.append((startsAt, figures))
            }
        }
        return [
            "step": .int(span.rawValue * 60),
            "points": .array(
                points.map { startsAt, figures -> JSON in
                    let at = Timestamp(milliseconds: startsAt * minuteMilliseconds)
                    return ["at": .string(at.iso), "figures": figures.json]
                }),
        ]
    }

    // MARK: - Functions

    /// For the gateway alone.
    static func install(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
        routes.function(FigureRow.keepFunction) { parameters, request in
            try request.requireAdmin()
            guard let gateway = try parameters.textParameter("gateway"), let row = FigureRow(parameters) else {
                throw ParseError(.validationError, "The figures cannot be read.")
            }
            return try await host.commit(request) { transaction in
                try Self.keep(row, of: gateway, in: transaction)
                return try .result([:])
            }
        }
        routes.function(FigureRow.pastFunction) { parameters, request in
            try request.requireArea(.developers)
            let days = try parameters.numberParameter("days", in: 1...30)
            let hours = try parameters.numberParameter("hours", in: 1...24) ?? 24
            let (span, minutes) = days.map { (Span.hour, $0 * 24 * 60) } ?? (Span.minute, hours * 60)
            return try .result(
                try await host.store.read(for: request.share) { try Self.all(span, minutes: Int64(minutes), $0) })
        }
    }
}

extension FigureRow {
    /// - Parameter text: from `json`.
    fileprivate init?(stored text: String) {
        guard let json = try? JSON(parsing: text) else { return nil }
        self.init(json)
    }
}
