import ObjectStore
import ParseProtocol
import ServiceKit

/// The functions with which the order desk reads payments.
struct PaymentReports: Sendable {
    let host: ServiceHost

    private static let states: Set<String> = ["created", "requiresAction", "succeeded", "declined", "abandoned"]

    func install(in routes: inout ServiceRoutes) {
        // `charges {limit?, state?, from?, count?}`: newest first, with their refunds. An undecided one includes the
        // reason.
        routes.function("charges") { [host] parameters, request in
            try request.requireArea(.orders)
            let limit = try parameters.listLimit()
            let state = parameters["state"] ?? .null
            guard state.isNull || state.stringValue.map(Self.states.contains) == true else {
                throw ParseError(
                    .validationError, "state must be one of \(Self.states.sorted().joined(separator: ", ")).")
            }
            let filter = Filter(state: state.stringValue, from: try parameters.momentParameter("from"))
            let wantsCount = try parameters.wantsCount()
            return try .result(
                await host.store.read(for: request.share) { reader in
                    try JSON.listing(
                        Self.charges(filter, limit, in: reader),
                        count: wantsCount ? Self.count(filter, in: reader) : nil)
                })
        }
        // `paymentEvents {limit?}`: the provider's webhook events, newest first.
        routes.function("paymentEvents") { [host] parameters, request in
            try request.requireArea(.orders)
            let limit = try parameters.listLimit()
            return try .result(
                .array(await host.store.read(for: request.share) { try PaymentEvents.newest(limit, in: $0) }))
        }
    }

    /// The charges of a list.
    private struct Filter {
        /// Nil for all.
        let state: String?
        /// When the oldest began; nil for all.
        let from: Timestamp?

        /// For the parameters ?1 and ?2.
        static let sql = """
            (CAST(?1 AS TEXT) IS NULL OR ?1 = CASE WHEN state = 'created' AND awaitsAction = 1 THEN 'requiresAction' \
            ELSE state END) AND createdAt >= ?2
            """

        var arguments: [SQLValue] { [state.map(SQLValue.text) ?? .null, .int(from?.milliseconds ?? 0)] }
    }

    private static func count(_ filter: Filter, in store: ObjectReader) throws -> Int64 {
        try store.rows("SELECT count(*) AS charges FROM charges WHERE \(Filter.sql)", filter.arguments)
            .first?.int("charges") ?? 0
    }

    /// Leaves out tokens and customers: they can be charged.
    private static func charges(_ filter: Filter, _ limit: Int64, in store: ObjectReader) throws -> [JSON] {
        try store.rows(
            """
            SELECT charges.*, openProblems.problem, openProblems.attempts FROM charges
            LEFT JOIN openProblems ON openProblems.operationId = charges.operationId
            WHERE \(Filter.sql) ORDER BY createdAt DESC, charges.operationId LIMIT ?3
            """, filter.arguments + [.int(limit)]
        ).map { row in
            let refunds = try refunds(of: row.text("operationId"), in: store)
            let back = refunds.filter { $0["state"] == "succeeded" }.compactMap { $0["amount"]?.intValue }
            var charge: [String: JSON] = try [
                "operationId": .string(row.text("operationId")), "orderId": .string(row.text("orderId")),
                "userId": .string(row.text("userId")), "amount": .int(row.int("amount")),
                "currency": .string(row.text("currency")), "state": .string(ChargeLedger.reported(row)),
                "createdAt": .string(Timestamp(milliseconds: row.int("createdAt")).iso),
                "changedAt": .string(Timestamp(milliseconds: row.int("changedAt")).iso),
                "refunds": .array(refunds), "refundedAmount": .int(back.reduce(0, +)),
            ]
            charge["chargeId"] = try row["chargeId"].textValue.map(JSON.string)
            charge["failure"] = try row["failure"].textValue.flatMap { try? JSON(parsing: $0) }
            charge["problem"] = try row["problem"].textValue.map(JSON.string)
            charge["attempts"] = try row["attempts"].intValue.map(JSON.int)
            return .object(charge)
        }
    }

    private static func refunds(of operationId: String, in store: ObjectReader) throws -> [JSON] {
        try store.rows(
            """
            SELECT refunds.*, openProblems.problem FROM refunds
            LEFT JOIN openProblems ON openProblems.operationId = refunds.operationId
            WHERE chargeOperationId = ? ORDER BY createdAt, refunds.operationId
            """, [.text(operationId)]
        ).map { row in
            var refund: [String: JSON] = try [
                "operationId": .string(row.text("operationId")), "amount": .int(row.int("amount")),
                "state": .string(row.text("state")),
                "createdAt": .string(Timestamp(milliseconds: row.int("createdAt")).iso),
            ]
            refund["refundId"] = try row["refundId"].textValue.map(JSON.string)
            refund["failure"] = try row["failure"].textValue.flatMap { try? JSON(parsing: $0) }
            refund["problem"] = try row["problem"].textValue.map(JSON.string)
            return .object(refund)
        }
    }
}
