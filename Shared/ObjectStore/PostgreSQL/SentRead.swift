import ParseProtocol

/// A read of one object that the server gets together with others (`StoreReader.send`). It is a class, because copies
/// of `ClassInfo` retain each of its collections.
package final class SentRead {
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

    /// Whether one statement reads both objects. Callers with their own rows in ACLs get their own statements, whose
    /// plan looks up one object.
    fileprivate func sharesStatement(with other: SentRead) -> Bool {
        kind == other.kind && (kind == .anonymous || kind == .master) && info.id == other.info.id
            && decision == .allowed && other.decision == .allowed
    }
}

/// Reads of several requests that share one round trip. Each sees all commits made before it was sent.
extension StoreReader {
    /// Whether the database is on a server.
    package var sendsReads: Bool { connection is PostgreSQLStoreConnection }
    /// Whether the connection to the server is lost. The next read waits for another one.
    package var isCutOff: Bool { (connection as? PostgreSQLStoreConnection)?.isBroken ?? false }

    /// Prepares a `read` that `take` sends with others. Until then the reader runs nothing else.
    /// - Returns: nil for a read that has to run alone.
    package func send(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> SentRead? {
        // The server refuses a zero byte, and with it the reads that share the statement.
        guard let server = connection as? PostgreSQLStoreConnection, !server.isBroken,
            let info = schema.classes[className], !objectId.utf8.contains(0)
        else { return nil }
        let decision = try info.permissions.decide(.get, caller, className: className)
        return SentRead(info, decision, objectId, keys: keys, excludeKeys: excludeKeys, caller)
    }

    /// Sends the reads, waits for their answers and returns them in the order of `reads`.
    /// - Returns: for an object that is missing or unreadable `.objectNotFound` (101); nil for each read that has to
    ///   run alone (`read`): its statement or one before it failed, or the schema has changed.
    package func take(_ reads: [SentRead], within limit: Duration) -> [Result<ReadObject, ParseError>?] {
        let found = try? connection.limited(to: limit) { answers(to: reads) }
        return found ?? reads.map { _ in nil }
    }

    private func answers(to reads: [SentRead]) -> [Result<ReadObject, ParseError>?] {
        var groups: [[Int]] = []
        for (index, read) in reads.enumerated() {
            if let shared = groups.firstIndex(where: { $0.contains { reads[$0].sharesStatement(with: read) } }) {
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

    /// Queues the statement of reads that share it.
    private func send(_ reads: [SentRead]) throws -> SentStatement? {
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
        _ sent: SentStatement, _ indices: [Int], of reads: [SentRead],
        into answers: inout [Result<ReadObject, ParseError>?]
    ) throws {
        let row = sent.twin
        defer { sent.original.takeBack(row) }
        guard try row.step(), row.int(2) == schema.generation else { return }
        var missing = indices
        if hasObject(row) {
            repeat {
                missing.removeAll { index in
                    let read = reads[index]
                    guard indices.count == 1 || read.objectId.utf8.elementsEqual(row.bytes(3)) else { return false }
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
