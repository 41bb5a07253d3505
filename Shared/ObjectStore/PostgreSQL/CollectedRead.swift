import ParseProtocol

/// A read of one object that a lane prepares and sends later together with others (`StoreReader.take`). It is a class,
/// because copies of `ClassInfo` retain each of its collections.
package final class CollectedRead {
    fileprivate let info: ClassInfo
    fileprivate let decision: ClassPermissions.Decision
    fileprivate let objectId: String
    fileprivate let keys: [String]
    fileprivate let excludeKeys: [String]
    fileprivate let caller: Caller
    fileprivate let kind: CallerKind

    fileprivate init(
        _ info: ClassInfo, _ decision: ClassPermissions.Decision, _ objectId: String, keys: [String],
        excludeKeys: [String], _ caller: Caller
    ) {
        self.info = info
        self.decision = decision
        self.objectId = objectId
        self.keys = keys
        self.excludeKeys = excludeKeys
        self.caller = caller
        kind = CallerKind(caller)
    }

    /// Whether one statement reads both objects.
    fileprivate func sharesStatement(with other: CollectedRead) -> Bool {
        kind == other.kind && kind.sharesStatements && info.id == other.info.id && decision == .allowed
            && other.decision == .allowed
    }
}

extension CallerKind {
    /// Whether one statement may read several objects for such callers. Those with their own rows in ACLs get a
    /// statement for each object, whose plan looks up one.
    fileprivate var sharesStatements: Bool { self == .anonymous || self == .master }
}

/// Reads of several requests that share one round trip. Each sees all commits made before it was sent.
extension StoreReader {
    /// Whether several reads may share a round trip: the database is on a server.
    package var collectsReads: Bool { connection is PostgreSQLStoreConnection }
    /// Whether the connection to the server is lost. The next read waits for another one.
    package var isCutOff: Bool { (connection as? PostgreSQLStoreConnection)?.isBroken ?? false }

    /// Prepares a `read` that `take` sends with others. Until then the reader runs nothing else, because that could
    /// load a newer schema than the one of the read.
    /// - Returns: nil for a read that has to run alone.
    package func collectedRead(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> CollectedRead? {
        // The server refuses a zero byte, and with it the reads that share the statement.
        guard let server = connection as? PostgreSQLStoreConnection, !server.isBroken,
            let info = schema.classes[className], !objectId.utf8.contains(0)
        else { return nil }
        let decision = try info.permissions.decide(.get, caller, className: className)
        return CollectedRead(info, decision, objectId, keys: keys, excludeKeys: excludeKeys, caller)
    }

    /// Sends the reads, waits for their answers and returns them in the order of `reads`.
    /// - Returns: for an object that is missing or unreadable `.objectNotFound` (101); nil for each read that has to
    ///   run alone (`read`): its statement or one before it failed, or the schema has changed.
    package func take(_ reads: [CollectedRead], within limit: Duration) -> [Result<ReadObject, ParseError>?] {
        let found = try? connection.limited(to: limit) { answers(to: reads) }
        return found ?? reads.map { _ in nil }
    }

    private func answers(to reads: [CollectedRead]) -> [Result<ReadObject, ParseError>?] {
        var groups: [[Int]] = []
        for (index, read) in reads.enumerated() {
            if let shared = groups.firstIndex(where: { reads[$0[0]].sharesStatement(with: read) }) {
                groups[shared].append(index)
            } else {
                groups.append([index])
            }
        }
        let sent = groups.map { group in try? send(group.map { reads[$0] }) }
        var answers = [Result<ReadObject, ParseError>?](repeating: nil, count: reads.count)
        for (group, statement) in zip(groups, sent) {
            if let statement { try? take(statement, group, of: reads, into: &answers) }
        }
        return answers
    }

    private struct SentStatement {
        /// A twin of `original`.
        let twin: PostgreSQLStoreStatement
        let original: PostgreSQLStoreStatement
    }

    /// Sends the statement of reads that share it.
    private func send(_ reads: [CollectedRead]) throws -> SentStatement? {
        guard let first = reads.first else { return nil }
        let isList = reads.count > 1
        let statement = try unboundStatement(
            first.info, first.decision, first.kind, readsGeneration: true, isList: isList)
        guard let original = statement as? PostgreSQLStoreStatement else { return nil }
        let twin = try original.twin()
        try first.caller.bind(to: twin)
        if isList {
            try twin.bind(utf8: JSON.array(reads.map { JSON.string($0.objectId) }).serialized, at: 5)
        } else {
            try twin.bind(first.objectId, at: 5)
        }
        try twin.send()
        return SentStatement(twin: twin, original: original)
    }

    /// - Parameter indices: those of the statement's reads.
    private func take(
        _ sent: SentStatement, _ indices: [Int], of reads: [CollectedRead],
        into answers: inout [Result<ReadObject, ParseError>?]
    ) throws {
        let row = sent.twin
        defer { sent.original.takeBack(row) }
        guard try row.step(), row.int(SingleColumn.generation) == schema.generation else { return }
        var missing = indices
        let idColumn = SingleColumn.objectId(readsGeneration: true)
        if hasObject(row) {
            repeat {
                missing.removeAll { index in
                    let read = reads[index]
                    guard indices.count == 1 || read.objectId.utf8.elementsEqual(row.bytes(idColumn))
                    else { return false }
                    let object = try? object(
                        in: row, read.info, read.objectId, keys: read.keys, excludeKeys: read.excludeKeys,
                        caller: read.caller)
                    answers[index] = object.map { .success($0) }
                    return true
                }
            } while try !missing.isEmpty && row.step()
        }
        for index in missing { answers[index] = .failure(.objectNotFound) }
    }
}

extension ObjectReader {
    /// Limit of the objects of one `fetch` that are requested together, because the reader keeps all of their rows.
    private static let sentMax = 32

    /// Calls `body` with the document of each object that is found, in the order of `ids`. A server gets several ids
    /// together.
    func forEachFound(
        _ ids: [String], in info: ClassInfo, _ decision: ClassPermissions.Decision, _ caller: Caller,
        _ body: (_ id: String, UnsafeBufferPointer<UInt8>) throws -> Void
    ) throws {
        let statement = try singleStatement(info, decision, caller)
        defer { statement.reset() }
        guard let original = statement as? PostgreSQLStoreStatement, ids.count > 1 else {
            for id in ids {
                try statement.bind(id, at: 5)
                if try statement.step() { try body(id, statement.bytes(0)) }
                statement.reset()
            }
            return
        }
        // A zero byte gets its refusal when it is bound alone.
        let isList =
            decision == .allowed && CallerKind(caller).sharesStatements && !ids.contains { $0.utf8.contains(0) }
        var rest = ids[...]
        while !rest.isEmpty {
            let sent = Array(rest.prefix(Self.sentMax))
            rest = rest.dropFirst(sent.count)
            if isList {
                try forEachFound(by: sent, in: info, CallerKind(caller), body)
            } else {
                try forEachFound(by: original, sent, caller, body)
            }
        }
    }

    /// Runs one statement for all ids.
    private func forEachFound(
        by ids: [String], in info: ClassInfo, _ kind: CallerKind,
        _ body: (_ id: String, UnsafeBufferPointer<UInt8>) throws -> Void
    ) throws {
        let statement = try unboundStatement(info, .allowed, kind, readsGeneration: false, isList: true)
        defer { statement.reset() }
        try statement.bind(utf8: JSON.array(ids.map(JSON.string)).serialized, at: 5)
        let idColumn = SingleColumn.objectId(readsGeneration: false)
        var documents = [[UInt8]](repeating: [], count: ids.count)
        while try statement.step() {
            for index in ids.indices where ids[index].utf8.elementsEqual(statement.bytes(idColumn)) {
                documents[index] = Array(statement.bytes(0))
            }
        }
        for (id, document) in zip(ids, documents) where !document.isEmpty {
            try document.withUnsafeBufferPointer { try body(id, $0) }
        }
    }

    /// Sends a statement for each id together.
    private func forEachFound(
        by original: PostgreSQLStoreStatement, _ ids: [String], _ caller: Caller,
        _ body: (_ id: String, UnsafeBufferPointer<UInt8>) throws -> Void
    ) throws {
        var twins: [PostgreSQLStoreStatement] = []
        defer { for twin in twins { original.takeBack(twin) } }
        for id in ids {
            let twin = try original.twin()
            twins.append(twin)
            try caller.bind(to: twin)
            try twin.bind(id, at: 5)
            try twin.send()
        }
        for (id, twin) in zip(ids, twins) {
            if try twin.step() { try body(id, twin.bytes(0)) }
        }
    }
}
