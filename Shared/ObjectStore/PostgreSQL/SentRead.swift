import ParseProtocol

/// A read of one object, sent to the server together with others (`StoreReader.send`).
package struct SentRead {
    /// A twin of `original`.
    fileprivate let statement: PostgreSQLStoreStatement
    fileprivate let original: PostgreSQLStoreStatement
    fileprivate let info: ClassInfo
    fileprivate let objectId: String
    fileprivate let keys: [String]
    fileprivate let excludeKeys: [String]
    fileprivate let caller: Caller
}

/// Reads of several requests that share one round trip. Each sees all commits made before it was sent.
extension StoreReader {
    /// Whether the database is on a server.
    package var sendsReads: Bool { connection is PostgreSQLStoreConnection }

    /// Queues the statement of a `read`, which the server gets with those of the other reads. Until `take` the reader
    /// runs nothing else.
    /// - Returns: nil for a read that has to run alone.
    package func send(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> SentRead? {
        guard let server = connection as? PostgreSQLStoreConnection, !server.isBroken,
            let info = schema.classes[className]
        else { return nil }
        let decision = try info.permissions.decide(.get, caller, className: className)
        let single = try unboundStatement(info, decision, CallerKind(caller), readsGeneration: true)
        guard let original = single as? PostgreSQLStoreStatement else { return nil }
        let twin = try original.twin()
        try caller.bind(to: twin)
        try twin.bind(objectId, at: 5)
        try twin.send()
        return SentRead(
            statement: twin, original: original, info: info, objectId: objectId, keys: keys,
            excludeKeys: excludeKeys, caller: caller)
    }

    /// Waits for the objects of all sent reads, and returns them in the order of the reads.
    /// - Returns: nil for each read that has to run alone (`read`): it found nothing, it or one before it failed, or
    ///   the schema has changed.
    package func take(_ reads: [SentRead], within limit: Duration) -> [ReadObject?] {
        let objects = try? connection.limited(to: limit) { reads.map { try? object(of: $0) } }
        return objects ?? reads.map { _ in nil }
    }

    private func object(of sent: SentRead) throws -> ReadObject? {
        defer { sent.original.takeBack(sent.statement) }
        guard try sent.statement.step(), sent.statement.int(2) == schema.generation else { return nil }
        return try object(
            in: sent.statement, sent.info, sent.objectId, keys: sent.keys, excludeKeys: sent.excludeKeys,
            caller: sent.caller)
    }
}

extension ObjectReader {
    /// Limit of the statements of one `fetch` that are sent together, because the reader keeps all of their rows.
    private static let sentMax = 32

    /// Runs a statement for one object for each id, and calls `body` with each row. A server gets several together.
    /// - Parameter statement: with the caller bound.
    func forEachFound(
        by statement: any StoreStatement, _ ids: [String], _ caller: Caller,
        _ body: (_ id: String, any StoreStatement) throws -> Void
    ) throws {
        guard let original = statement as? PostgreSQLStoreStatement, ids.count > 1 else {
            for id in ids {
                try statement.bind(id, at: 5)
                if try statement.step() { try body(id, statement) }
                statement.reset()
            }
            return
        }
        var rest = ids[...]
        while !rest.isEmpty {
            let sent = rest.prefix(Self.sentMax)
            rest = rest.dropFirst(sent.count)
            var twins: [PostgreSQLStoreStatement] = []
            defer { for twin in twins { original.takeBack(twin) } }
            for id in sent {
                let twin = try original.twin()
                twins.append(twin)
                try caller.bind(to: twin)
                try twin.bind(id, at: 5)
                try twin.send()
            }
            for (id, twin) in zip(sent, twins) {
                if try twin.step() { try body(id, twin) }
            }
        }
    }
}
