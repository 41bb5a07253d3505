import ParseProtocol

/// Stores objects that bring their ids, each at most once, however often a load is repeated or interrupted.
struct Loader: Sendable {
    let gateway: Gateway

    /// The largest page the gateway serves by default.
    private static let pageSize = 1000

    /// The ids of a class that lie between two texts.
    func ids(_ className: String, from first: String, below end: String) async throws -> [String] {
        var found: [String] = []
        while true {
            // Paging by objectId instead of `skip`: the hundredth page costs what the first one did.
            let start: JSON =
                found.last.map { ["$gt": .string($0), "$lt": .string(end)] } ?? [
                    "$gte": .string(first), "$lt": .string(end),
                ]
            let rows = try await find(className, ["objectId": start], keys: "objectId")
            found += rows.compactMap { $0["objectId"]?.stringValue }
            guard rows.count == Loader.pageSize else { return found }
        }
    }

    /// Up to a page of objects, in the order of their ids.
    func find(_ className: String, _ condition: JSON, keys: String) async throws -> [JSON] {
        let path = className == "_User" ? "/users" : "/classes/\(className)"
        // In the body, because a condition with many texts is too long for a URL.
        let answer = try await gateway.send(
            .post, path,
            body: [
                "_method": "GET", "where": condition, "keys": .string(keys), "order": "objectId",
                "limit": .int(Int64(Loader.pageSize)),
            ])
        guard let rows = answer["results"]?.arrayValue else {
            throw SetupError.unexpectedAnswer(request: "GET \(path)")
        }
        return rows
    }

    /// Stores one batch. What met a service that was not available is sent again with all the rest: an object that is
    /// there already stays the same by it.
    /// - Throws: `SetupError.notStored` for an object that was refused, naming it.
    func create(_ className: String, _ batch: [JSON]) async throws {
        guard !batch.isEmpty else { return }
        for attempt in 1... {
            let answer = try await gateway.send(.post, "/import/\(className)", body: .array(batch))
            guard let failures = answer["failures"]?.arrayValue else {
                throw SetupError.unexpectedAnswer(request: "POST /import/\(className)")
            }
            let errors = try failures.map { try Loader.failure($0, className, batch) }
            guard let first = errors.first else { return }
            if let refused = errors.first(where: { !Loader.mayPass($0) }) { throw refused }
            guard attempt < Gateway.attemptsMax else { throw first }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private static func mayPass(_ error: SetupError) -> Bool {
        error.code == .serviceUnavailable || error.code == .timeout
    }

    private static func failure(_ item: JSON, _ className: String, _ batch: [JSON]) throws -> SetupError {
        guard let error = ParseError(answer: item), let row = item["row"]?.intValue,
            batch.indices.contains(Int(row) - 1)
        else { throw SetupError.unexpectedAnswer(request: "POST /import/\(className)") }
        let id = batch[Int(row) - 1]["objectId"]?.stringValue ?? ""
        return .notStored(className: className, key: id, error: error)
    }

    /// Takes away the field by which earlier releases knew the demo's objects again.
    func removeMarks(from classNames: [String]) async throws {
        for className in classNames {
            do {
                _ = try await gateway.send(
                    .put, "/schemas/\(className)", body: ["fields": ["demoKey": ["__op": "Delete"]]])
            } catch let error as SetupError where error.code == .classNotEmpty || error.code == .invalidClassName {
                continue  // There is no such field, or no such class.
            }
        }
    }
}
