import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The loyalty service: customers' points, in its own file.
let loyaltyPlan = ServicePlan(
    name: "loyalty",
    migrations: [
        Migration(1, "points", ["CREATE TABLE points(userId TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID"])
    ])

func buildLoyalty(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    // POST /parse/functions/points: a signed-in user reads its own points.
    routes.function("points") { _, request in
        let user = try request.userId
        return try .result(.int(try await host.store.read(for: request.share) { try count(of: user, $0) }))
    }
    // POST /parse/functions/givePoints {"userId": "…", "points": 10}: for admins and the master key.
    routes.function("givePoints") { parameters, request in
        try request.requireAdmin()
        let user = try parameters.objectIdParameter("userId")
        guard let given = try parameters.numberParameter("points", in: 1...10_000) else {
            throw ParseError(.validationError, "points are missing.")
        }
        // One transaction, once per request: a repetition after a crash gets the first answer.
        return try await host.commit(request) { transaction in
            try transaction.execute(
                """
                INSERT INTO points(userId, count) VALUES (?1, ?2)
                ON CONFLICT(userId) DO UPDATE SET count = count + ?2
                """, [.text(user), .int(Int64(given))])
            return try .result(.int(try count(of: user, transaction)))
        }
    }
}

private func count(of userId: String, _ reader: ObjectReader) throws -> Int64 {
    try reader.rows("SELECT count FROM points WHERE userId = ?", [.text(userId)]).first?.int("count") ?? 0
}
