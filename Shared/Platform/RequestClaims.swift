import Messages
import ObjectStore
import ParseProtocol

extension ClassDefinition {
    /// Request ids of clients that must not run twice (PARSE_PROTOCOL section 12). Written by this service; read with
    /// the master key.
    static let requestClaim = ClassDefinition(
        "_Idempotency", fields: ["reqId": .string, "expire": .date], indexes: [["expire"]], uniqueIndexes: [["reqId"]],
        permissions: .masterOnly)
}

/// The used request ids, one row each, unique by id. If two requests with one id arrive concurrently, even through
/// different gateways, the second finds the row or fails to insert it.
package enum RequestClaims {
    private static let className = "_Idempotency"
    /// Takes a few milliseconds of one transaction; the next transaction removes the rest.
    private static let removedAtOnce = 500

    /// - Throws: `.duplicateRequest` (159) while the id is in use.
    static func claim(_ request: ClaimRequest, in transaction: StoreTransaction) throws {
        guard !request.requestID.isEmpty, request.lifetimeMs > 0 else {
            throw ParseError(.invalidJSON, "A request id and its lifetime are needed.")
        }
        if let row = try find(["reqId": .string(request.requestID)], in: transaction).first {
            guard try expiry(of: row) <= transaction.now else {
                throw ParseError(.duplicateRequest, "Duplicate request")
            }
            try remove(row, in: transaction)
        }
        let expiry = transaction.now.advanced(by: .milliseconds(request.lifetimeMs))
        _ = try transaction.create(
            className, ["reqId": .string(request.requestID), "expire": expiry.wire], caller: .master)
    }

    /// Releases the id of a request that was not carried out.
    static func release(_ requestId: String, in transaction: StoreTransaction) throws {
        for row in try find(["reqId": .string(requestId)], in: transaction) { try remove(row, in: transaction) }
    }

    /// Removes expired ids; true when more may remain.
    package static func removeExpired(in transaction: StoreTransaction) throws -> Bool {
        let old = try find(["expire": ["$lte": transaction.now.wire]], limit: removedAtOnce, in: transaction)
        for row in old { try remove(row, in: transaction) }
        return old.count == removedAtOnce
    }

    private static func find(_ condition: JSON, limit: Int = 1, in transaction: StoreTransaction) throws -> [JSON] {
        try transaction.documents(Query(className: className, where: condition, limit: limit), caller: .master)
    }

    private static func expiry(of row: JSON) throws -> Timestamp {
        // A row that an operator created without an expiry counts as expired.
        row["expire"]?["iso"]?.stringValue.flatMap(Timestamp.init(iso:)) ?? Timestamp(milliseconds: 0)
    }

    private static func remove(_ row: JSON, in transaction: StoreTransaction) throws {
        _ = try transaction.delete(className, row["objectId"]?.stringValue ?? "", caller: .master)
    }
}
