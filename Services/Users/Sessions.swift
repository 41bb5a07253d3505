import ObjectStore
import ParseProtocol
import ServiceKit

/// How a session came to be, as its `createdWith` tells.
package struct SessionOrigin {
    package enum Action: String, Sendable { case login, signup, create }

    package enum Provider: Sendable {
        case password, masterKey
        case vouching(AuthProvider)

        var wire: String {
            switch self {
            case .password: "password"
            case .masterKey: "masterkey"
            case .vouching(let provider): provider.rawValue
            }
        }
    }

    let action: Action
    /// Nil for a session made from another session.
    let provider: Provider?

    package init(action: Action, provider: Provider?) {
        self.action = action
        self.provider = provider
    }

    var wire: JSON {
        var members: [String: JSON] = ["action": .string(action.rawValue)]
        members["authProvider"] = (provider?.wire).map(JSON.string)
        return .object(members)
    }
}

/// Opening, finding and closing sessions, which are objects of the class `_Session`.
package enum Sessions {
    static let tables = [
        // Sessions whose end the master key chose; use does not extend them.
        "CREATE TABLE IF NOT EXISTS fixedSessions(sessionId TEXT PRIMARY KEY) WITHOUT ROWID"
    ]

    /// One user's sessions; of more the oldest end. Nobody has so many devices, but a script that signs in each time may.
    static let perUserMax = 100
    /// Apps send UUIDs; a longer text is not kept.
    private static let installationIdBytesMax = 128
    private static let pageRows = 500

    package struct Opened {
        package let token: String
        package let document: JSON
        /// Tokens of the older sessions of the same installation, which end here.
        package let replaced: [String]
    }

    /// - Parameters:
    ///   - fields: the client's own.
    ///   - creator: whose class-level permissions decide about creating the session and its fields.
    package static func open(
        for userId: String, _ origin: SessionOrigin, installationId: String?, fields: [String: JSON] = [:],
        isRestricted: Bool = false, lifetime: Duration, creator: Caller = .master, in transaction: StoreTransaction
    ) throws -> Opened {
        let user = JSON.pointer("_User", userId)
        var session: [String: JSON] = [:]
        var replaced: [String] = []
        if let installationId, (1...installationIdBytesMax).contains(installationId.utf8.count) {
            replaced = try close(
                where: ["user": user, "installationId": .string(installationId)], in: transaction)
            session["installationId"] = .string(installationId)
        }
        replaced += try makeRoom(user, in: transaction)
        let token = newToken()
        session["user"] = user
        session["sessionToken"] = .string(token)
        session["createdWith"] = origin.wire
        session["restricted"] = .bool(isRestricted)
        session["expiresAt"] = transaction.now.advanced(by: lifetime).wire
        session["ACL"] = .privateACL(userId)
        if creator.isMaster {
            let created = try transaction.create(
                "_Session", .object(fields.merging(session) { $1 }), caller: .master)
            return Opened(token: token, document: created.document, replaced: replaced)
        }
        let created = try transaction.create("_Session", .object(fields), caller: creator)
        let completed = try transaction.update("_Session", created.objectId, .object(session), caller: .master)
        return Opened(token: token, document: completed.document, replaced: replaced)
    }

    /// The session of a token.
    /// - Throws: 209 when there is none, or when its time is over.
    package static func live(_ token: String, at now: Timestamp, _ reader: some ObjectReading) throws -> JSON {
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

    package static func expiry(of session: JSON) -> Timestamp? {
        (session["expiresAt"]?["iso"]?.stringValue).flatMap { Timestamp(iso: $0) }
    }

    @discardableResult
    static func close(of userId: String, in transaction: StoreTransaction) throws -> Int {
        try close(where: ["user": .pointer("_User", userId)], in: transaction).count
    }

    /// Ends the oldest sessions until there is room for one more.
    private static func makeRoom(_ user: JSON, in transaction: StoreTransaction) throws -> [String] {
        try transaction.documents(
            Query(
                className: "_Session", where: ["user": user], order: ["-createdAt"], limit: pageRows,
                skip: perUserMax - 1), caller: .master
        ).map { try end($0, in: transaction) }
    }

    /// Whether more than half of a session's time is over. The rest is long enough that a write each time it is used would be waste.
    static func isExtendable(
        _ session: JSON, lifetime: Duration?, at now: Timestamp, _ reader: some ObjectReading
    ) throws -> Bool {
        guard let lifetime, let end = expiry(of: session), end < now.advanced(by: lifetime / 2) else { return false }
        return try reader.rows(
            "SELECT 1 FROM fixedSessions WHERE sessionId = ?", [.text(session["objectId"]?.stringValue ?? "")]
        ).isEmpty
    }

    /// Gives a session that is in use its full time again.
    package static func extend(_ token: String, lifetime: Duration?, in transaction: StoreTransaction) throws {
        let session = try live(token, at: transaction.now, transaction)
        guard let lifetime, try isExtendable(session, lifetime: lifetime, at: transaction.now, transaction) else {
            return
        }
        try transaction.update(
            "_Session", session["objectId"]?.stringValue ?? "",
            ["expiresAt": transaction.now.advanced(by: lifetime).wire], caller: .master)
    }

    /// Remembers that the master key chose when a session ends.
    package static func fix(_ sessionId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT INTO fixedSessions(sessionId) VALUES (?) ON CONFLICT DO NOTHING", [.text(sessionId)])
    }

    static func unfix(_ sessionId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM fixedSessions WHERE sessionId = ?", [.text(sessionId)])
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
        ).map { try end($0, in: transaction) }
    }

    /// - Returns: the session's token.
    private static func end(_ session: JSON, in transaction: StoreTransaction) throws -> String {
        let sessionId = session["objectId"]?.stringValue ?? ""
        try transaction.delete("_Session", sessionId, caller: .master)
        try unfix(sessionId, in: transaction)
        return session["sessionToken"]?.stringValue ?? ""
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
