import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A page of a product's rows in the ledger of stock, newest first, for the function `stockMoves`.
package struct StockMovesPage: Sendable {
    private let productId: String
    private let limit: Int64
    /// Rows older than this one; nil for the first page.
    private let after: Int64?

    private static let limitMax: Int64 = 200

    /// - Throws: `.validationError` (142) for invalid parameters.
    package init(_ parameters: JSON) throws {
        productId = try parameters.objectIdParameter("productId")
        limit = try parameters.listLimit(standard: 50, maximum: Self.limitMax)
        after = try parameters.textParameter("after").map {
            guard let id = Int64($0), id > 0 else {
                throw ParseError(.validationError, "after must be the next of an earlier answer.")
            }
            return id
        }
    }

    /// `{moves, next}`; `next` is null on the last page. `who` of a move is an objectId.
    package func read(in reader: ObjectReader) throws -> JSON {
        // One extra row shows whether there is a next page.
        let rows = try reader.rows(
            """
            SELECT id, at, pieces, reason, reservationId, orderId, madeBy FROM stockMoves
            WHERE productId = ? AND id < ? ORDER BY id DESC LIMIT ?
            """, [.text(productId), .int(after ?? .max), .int(limit + 1)])
        let shown = rows.prefix(Int(limit))
        let next = try rows.count > shown.count ? shown.last.map { JSON.string(String(try $0.int("id"))) } : nil
        return ["moves": .array(try shown.map(Self.move)), "next": next ?? .null]
    }

    private static func move(_ row: SQLRow) throws -> JSON {
        try [
            "at": .string(Timestamp(milliseconds: row.int("at")).iso), "pieces": .int(row.int("pieces")),
            "reason": .string(row.text("reason")), "orderId": .string(row.text("orderId")),
            "reservationId": .string(row.text("reservationId")), "who": .string(row.text("madeBy")),
        ]
    }
}

/// The cloud function with which operators read the ledger of stock.
struct StockFunctions: Sendable {
    let host: ServiceHost

    /// Short: a page without names is good enough.
    private static let waitMax = Duration.seconds(3)

    func install(in routes: inout ServiceRoutes) {
        // `stockMoves {productId, limit?, after?}`
        routes.function("stockMoves") { parameters, request in
            try request.requireArea(.catalog)
            let page = try StockMovesPage(parameters)
            var answer = try await host.store.read(for: request.share) { try page.read(in: $0) }
            var moves = answer["moves"]?.arrayValue ?? []
            var names = ["": "", StockLedger.masterKey: StockLedger.masterKey]
            var isUsersThere = true
            for index in moves.indices {
                let who = moves[index]["who"]?.stringValue ?? ""
                if names[who] == nil, isUsersThere {
                    names[who] = await name(of: who, for: request)
                    isUsersThere = names[who] != nil
                }
                moves[index]["who"] = .string(names[who] ?? who)
            }
            answer["moves"] = .array(moves)
            return try .result(answer)
        }
    }

    /// The name that operators see for another operator: the account's name, or else its e-mail address, or the id of a
    /// deleted account. Nil when users does not answer.
    private func name(of userId: String, for request: ServiceRequest) async -> String? {
        do {
            let reply = try await host.call(
                UsersCalls.contact, ContactRequest.with { $0.userID = userId }, for: request, timeout: Self.waitMax)
            return reply.name.isEmpty ? reply.email : reply.name
        } catch {
            return (error as? ParseError)?.code == .objectNotFound ? userId : nil
        }
    }
}
