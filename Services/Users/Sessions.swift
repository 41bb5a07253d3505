import ObjectStore
import ParseProtocol
import ServiceKit

/// How a session came to be, as its `createdWith` tells.
struct SessionOrigin {
    enum Action: String { case login, signup, create }
    enum Provider: String { case password, anonymous }

    let action: Action
    /// Nil for a session made from another session.
    let provider: Provider?

    var wire: JSON {
        var members: [String: JSON] = ["action": .string(action.rawValue)]
        members["authProvider"] = (provider?.rawValue).map(JSON.string)
        return .object(members)
    }
}

/// Opening, finding and closing sessions, which are objects of the class `_Session`.
enum Sessions {
    /// A year, as in Parse.
    static let lifetime = Duration.seconds(31_536_000)
    /// Apps send UUIDs; a longer text is not kept.
    private static let installationIdBytesMax = 128
    private static let pageRows = 500

    struct Opened {
        let token: String
        let document: JSON
        /// Tokens of the older sessions of the same installation, which end here.
        let replaced: [String]
    }

    static func open(
        for userId: String, _ origin: SessionOrigin, installationId: String?, fields: [String: JSON] = [:],
        in transaction: StoreTransaction
    ) throws -> Opened {
        let user = JSON.pointer("_User", userId)
        var session = fields
        var replaced: [String] = []
        if let installationId, (1...installationIdBytesMax).contains(installationId.utf8.count) {
            replaced = try close(
                where: ["user": user, "installationId": .string(installationId)], in: transaction)
            session["installationId"] = .string(installationId)
        }
        let token = newToken()
        session["user"] = user
        session["sessionToken"] = .string(token)
        session["createdWith"] = origin.wire
        session["restricted"] = false
        session["expiresAt"] = transaction.now.advanced(by: lifetime).wire
        session["ACL"] = .privateACL(userId)
        let created = try transaction.create("_Session", .object(session), caller: .master)
        return Opened(token: token, document: created.document, replaced: replaced)
    }

    /// The session of a token.
    /// - Throws: 209 when there is none, or when its time is over.
    static func live(_ token: String, at now: Timestamp, _ reader: some ObjectReading) throws -> JSON {
        guard !token.isEmpty,
            let session = try reader.documents(
                Query(className: "_Session", where: ["sessionToken": .string(token)], limit: 1), caller: .master
            ).first
        else { throw ParseError.invalidSession }
        guard let end = expiry(of: session), end > now else {
            throw ParseError(.invalidSessionToken, "Session token is expired.")
        }
        return session
    }

    static func expiry(of session: JSON) -> Timestamp? {
        (session["expiresAt"]?["iso"]?.stringValue).flatMap { Timestamp(iso: $0) }
    }

    static func close(of userId: String, in transaction: StoreTransaction) throws {
        _ = try close(where: ["user": .pointer("_User", userId)], in: transaction)
    }

    /// Removes what nobody can use any more, at most a page of it.
    static func closeExpired(in transaction: StoreTransaction) throws {
        _ = try closePage(where: ["expiresAt": ["$lt": transaction.now.wire]], in: transaction)
    }

    /// - Returns: the tokens of the sessions that ended.
    private static func close(where condition: JSON, in transaction: StoreTransaction) throws -> [String] {
        var tokens: [String] = []
        while case let page = try closePage(where: condition, in: transaction), !page.isEmpty { tokens += page }
        return tokens
    }

    private static func closePage(where condition: JSON, in transaction: StoreTransaction) throws -> [String] {
        try transaction.documents(
            Query(className: "_Session", where: condition, limit: pageRows), caller: .master
        ).map { session in
            try transaction.delete("_Session", session["objectId"]?.stringValue ?? "", caller: .master)
            return session["sessionToken"]?.stringValue ?? ""
        }
    }

    /// `r:` and 128 random bits in hex.
    static func newToken() -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = (0..<32).map { _ in
            String(UInt8.random(in: 0..<16, using: &generator), radix: 16)
        }
        return "r:" + digits.joined()
    }
}
