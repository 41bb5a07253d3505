import Messages
import ObjectStore
import ParseProtocol

extension ClassDefinition {
    /// The request ids of clients that must not run twice (PARSE_PROTOCOL section 12). Written by this service, read
    /// with the master key.
    static let requestClaim = ClassDefinition(
        "_Idempotency", fields: ["reqId": .string, "expire": .date], indexes: [["expire"]], uniqueIndexes: [["reqId"]],
        permissions: .masterOnly)
}

/// Request ids that are taken. One row each, unique by the id: of two requests with one id that come at once, the
/// second finds the row or fails on it, whichever gateway sent it.
enum RequestClaims {
    private static let className = "_Idempotency"
    /// A few milliseconds of one transaction; what is left over is removed with the next.
    private static let removedAtOnce = 500

    /// - Throws: `.duplicateRequest` (159) while the id is taken.
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

    /// Gives an id back whose request was not carried out.
    static func release(_ requestId: String, in transaction: StoreTransaction) throws {
        for row in try find(["reqId": .string(requestId)], in: transaction) { try remove(row, in: transaction) }
    }

    /// Removes ids whose time is over; true when there may be more of them.
    static func removeExpired(in transaction: StoreTransaction) throws -> Bool {
        let old = try find(["expire": ["$lte": transaction.now.wire]], limit: removedAtOnce, in: transaction)
        for row in old { try remove(row, in: transaction) }
        return old.count == removedAtOnce
    }

    private static func find(_ condition: JSON, limit: Int = 1, in transaction: StoreTransaction) throws -> [JSON] {
        try transaction.documents(Query(className: className, where: condition, limit: limit), caller: .master)
    }

    private static func expiry(of row: JSON) throws -> Timestamp {
        // A row that an operator made without an end is over.
        row["expire"]?["iso"]?.stringValue.flatMap(Timestamp.init(iso:)) ?? Timestamp(milliseconds: 0)
    }

    private static func remove(_ row: JSON, in transaction: StoreTransaction) throws {
        _ = try transaction.delete(className, row["objectId"]?.stringValue ?? "", caller: .master)
    }
}
