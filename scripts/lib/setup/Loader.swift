import ParseProtocol

/// Stores objects that have ids, each at most once, however often a load is repeated or interrupted.
struct Loader: Sendable {
    let gateway: Gateway

    /// The gateway's default maximum page size.
    private static let pageSize = 1000

    /// The ids of a class that lie between two texts.
    func ids(_ className: String, from first: String, below end: String) async throws -> [String] {
        var found: [String] = []
        while true {
            // Pages by objectId instead of `skip`, so that the hundredth page costs as much as the first.
            let start: JSON =
                found.last.map { ["$gt": .string($0), "$lt": .string(end)] } ?? [
                    "$gte": .string(first), "$lt": .string(end),
                ]
            let rows = try await find(className, ["objectId": start], keys: "objectId")
            found += rows.compactMap { $0["objectId"]?.stringValue }
            guard rows.count == Loader.pageSize else { return found }
        }
    }

    /// Up to one page of objects, ordered by id.
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

    /// Stores one batch. If a service was unavailable for some objects, the whole batch is sent again, which leaves
    /// existing objects unchanged.
    /// - Throws: `SetupError.notStored` for a refused object, naming it.
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

    /// Removes the field by which earlier releases recognised the demo's objects.
    func removeMarks(from classNames: [String]) async throws {
        for className in classNames {
            do {
                _ = try await gateway.send(
                    .put, "/schemas/\(className)", body: ["fields": ["demoKey": ["__op": "Delete"]]])
            } catch let error as SetupError where error.code == .classNotEmpty || error.code == .invalidClassName {
                continue  // The field or the class does not exist.
            }
        }
    }
}
