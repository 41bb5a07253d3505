import ParseProtocol

/// Stores objects that carry a `demoKey`, each at most once, however often a load is repeated or interrupted.
struct Loader: Sendable {
    let gateway: Gateway

    /// The largest page the gateway serves by default.
    private static let pageSize = 1000

    /// The objects that are there: their `demoKey` and objectId.
    /// - Parameter constraint: the condition on `demoKey`.
    func existing(_ className: String, where constraint: JSON = ["$exists": true]) async throws -> [String: String] {
        var found: [String: String] = [:]
        var lastId: String?
        while true {
            // Paging by objectId instead of `skip`: the hundredth page costs what the first one did.
            var condition: JSON = ["demoKey": constraint]
            if let lastId { condition["objectId"] = ["$gt": .string(lastId)] }
            let answer = try await gateway.send(
                .GET, path(className),
                query: [
                    "where": condition, "keys": "demoKey", "order": "objectId", "limit": .int(Int64(Loader.pageSize)),
                ])
            guard let rows = answer["results"]?.arrayValue else {
                throw SetupError.unexpectedAnswer(request: "GET \(path(className))")
            }
            for row in rows {
                guard let key = row["demoKey"]?.stringValue, let id = row["objectId"]?.stringValue else { continue }
                found[key] = id
            }
            guard rows.count == Loader.pageSize, let last = rows.last?["objectId"]?.stringValue else { return found }
            lastId = last
        }
    }

    /// Stores one batch. After a 503 nobody knows which objects were stored: it looks, and sends the others again.
    /// - Returns: the objectIds by `demoKey`.
    /// - Throws: `SetupError.notStored` for an object that was refused, naming it.
    func create(_ className: String, _ batch: [JSON]) async throws -> [String: String] {
        var missing = batch
        var created: [String: String] = [:]
        for attempt in 1... {
            let pause: Duration
            do {
                let busy = try await send(className, missing, &created)
                guard let busy else { return created }
                guard attempt < Gateway.attemptsMax else { throw busy }
                pause = .seconds(1)
            } catch SetupError.refused(_, _, _, let retryAfter?) where attempt < Gateway.attemptsMax {
                pause = retryAfter
            }
            try await Task.sleep(for: pause)
            let keys = missing.compactMap { $0["demoKey"] }
            created.merge(try await existing(className, where: ["$in": .array(keys)])) { _, found in found }
            missing.removeAll { created[$0["demoKey"]?.stringValue ?? ""] != nil }
            if missing.isEmpty { break }
        }
        return created
    }

    /// One round: adds what was stored to `created`, throws what was refused, and returns the error of an object that
    /// met a service that was not available, if any did.
    private func send(
        _ className: String, _ batch: [JSON], _ created: inout [String: String]
    ) async throws -> SetupError? {
        let target = JSON.string(gateway.endpoint.mount + path(className))
        let requests = batch.map { JSON.object(["method": "POST", "path": target, "body": $0]) }
        let answer = try await gateway.sendOnce(.POST, "/batch", body: ["requests": .array(requests)])
        guard let items = answer.arrayValue, items.count == batch.count else {
            throw SetupError.unexpectedAnswer(request: "POST /batch")
        }
        var busy: SetupError?
        for (object, item) in zip(batch, items) {
            let key = object["demoKey"]?.stringValue ?? ""
            if let id = item["success"]?["objectId"]?.stringValue {
                created[key] = id
                continue
            }
            guard let error = item["error"].flatMap(ParseError.init(answer:)) else {
                throw SetupError.unexpectedAnswer(request: "POST /batch")
            }
            let failure = SetupError.notStored(className: className, key: key, error: error)
            guard [.serviceUnavailable, .timeout].contains(error.code) else { throw failure }
            busy = failure
        }
        return busy
    }

    private func path(_ className: String) -> String {
        className == "_User" ? "/users" : "/classes/\(className)"
    }
}
