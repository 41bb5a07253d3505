import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The origin of a session, for its `createdWith`.
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
    /// Nil for a session created by another session.
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

/// How use of a session extends it.
package struct SessionExtension: Sendable {
    /// The new lifetime after an extension.
    package let lifetime: Duration
    /// The part of `lifetime` that must have passed before an extension is written, to avoid a write per use.
    package let after: Duration

    package init(lifetime: Duration, after: Duration) {
        self.lifetime = lifetime
        self.after = after
    }
}

/// Opens, finds and ends sessions, which are objects of the class `_Session`.
///
/// A token is not a field of its object. Only its keyed hash is stored, in a separate table, so that no read, query or
/// export of sessions and no copy of the database reveals a token.
package enum Sessions {
    /// Limit of sessions per user; beyond it the oldest end. Users do not have so many devices, but scripts may sign in
    /// each time.
    static let perUserMax = 100
    /// Limit of an installation id. Apps send UUIDs; a longer text is not stored.
    private static let installationIdBytesMax = 128
    private static let pageRows = 500

    package struct Opened {
        package let token: String
        package let document: JSON
        /// The sessions that the gateway must look up again, when older ones ended because of this one.
        package let forget: Forget?
    }

    /// - Parameters:
    ///   - fields: the client's own fields.
    ///   - creator: the caller whose class-level permissions apply to the session and its fields.
    package static func open(
        for userId: String, _ origin: SessionOrigin, installationId: String?, fields: [String: JSON] = [:],
        isRestricted: Bool = false, lifetime: Duration, creator: Caller = .master, key: AccountKey,
        in transaction: StoreTransaction
    ) throws -> Opened {
        let user = JSON.pointer("_User", userId)
        var session: [String: JSON] = [:]
        var replaced = 0
        if let installationId, (1...installationIdBytesMax).contains(installationId.utf8.count) {
            replaced = try close(
                where: ["user": user, "installationId": .string(installationId)], in: transaction)
            session["installationId"] = .string(installationId)
        }
        replaced += try makeRoom(user, in: transaction)
        let token = newToken()
        session["user"] = user
        session["createdWith"] = origin.wire
        session["restricted"] = .bool(isRestricted)
        session["expiresAt"] = transaction.now.advanced(by: lifetime).wire
        session["ACL"] = .privateACL(userId)
        let created: Created
        let document: JSON
        if creator.isMaster {
            created = try transaction.create("_Session", .object(fields.merging(session) { $1 }), caller: .master)
            document = created.document
        } else {
            created = try transaction.create("_Session", .object(fields), caller: creator)
            document = try transaction.update("_Session", created.objectId, .object(session), caller: .master).document
        }
        try keep(token, of: created.objectId, key, in: transaction)
        return Opened(token: token, document: document, forget: replaced == 0 ? nil : .users([userId]))
    }

    /// Stores the token's hash for the session.
    static func keep(
        _ token: String, of sessionId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            "INSERT INTO sessionTokens(hash, sessionId) VALUES (?, ?)",
            [.text(key.digest(token, for: .sessionToken)), .text(sessionId)])
    }

    /// The id of a token's session, even if expired; nil when there is none. The timing of a look-up by hash reveals
    /// nothing about the token.
    static func id(of token: String, _ key: AccountKey, _ reader: ObjectReader) throws -> String? {
        try reader.rows(
            "SELECT sessionId FROM sessionTokens WHERE hash = ?", [.text(key.digest(token, for: .sessionToken))]
        ).first?.text("sessionId")
    }

    /// The session of a token.
    /// - Throws: `.invalidSessionToken` (209) when there is none, or when it has expired.
    package static func live(
        _ token: String, _ key: AccountKey, at now: Timestamp, _ reader: ObjectReader
    ) throws -> JSON {
        guard !token.isEmpty, let session = try find(token, key, reader) else { throw ParseError.invalidSession }
        guard let end = expiry(of: session), end > now else {
            throw ParseError(.invalidSessionToken, "Session token is expired.")
        }
        return session
    }

    private static func find(_ token: String, _ key: AccountKey, _ reader: ObjectReader) throws -> JSON? {
        guard let id = try id(of: token, key, reader) else { return nil }
        return try reader.documentIfFound("_Session", id, caller: .master)
    }

    package static func expiry(of session: JSON) -> Timestamp? {
        (session["expiresAt"]?["iso"]?.stringValue).flatMap { Timestamp(iso: $0) }
    }

    @discardableResult
    static func close(of userId: String, in transaction: StoreTransaction) throws -> Int {
        try close(where: ["user": .pointer("_User", userId)], in: transaction)
    }

    /// Ends the oldest sessions until there is room for `count` more.
    /// - Returns: the number of ended sessions.
    static func makeRoom(_ user: JSON, for count: Int = 1, in transaction: StoreTransaction) throws -> Int {
        let oldest = try transaction.documents(
            Query(
                className: "_Session", where: ["user": user], order: ["-createdAt"], limit: pageRows,
                skip: perUserMax - count), caller: .master)
        for session in oldest { try end(session, in: transaction) }
        return oldest.count
    }

    /// Whether enough of a session's lifetime has passed for an extension.
    static func isExtendable(
        _ session: JSON, _ times: SessionExtension?, at now: Timestamp, _ reader: ObjectReader
    ) throws -> Bool {
        guard let times, let end = expiry(of: session),
            end < now.advanced(by: times.lifetime - times.after)
        else { return false }
        return try reader.rows(
            "SELECT 1 FROM fixedSessions WHERE sessionId = ?", [.text(session["objectId"]?.stringValue ?? "")]
        ).isEmpty
    }

    /// Resets the lifetime of a session that is in use.
    package static func extend(
        _ token: String, extension times: SessionExtension?, key: AccountKey, in transaction: StoreTransaction
    ) throws {
        let session = try live(token, key, at: transaction.now, transaction)
        guard let times, try isExtendable(session, times, at: transaction.now, transaction) else { return }
        try transaction.update(
            "_Session", session["objectId"]?.stringValue ?? "",
            ["expiresAt": transaction.now.advanced(by: times.lifetime).wire], caller: .master)
    }

    /// Records that the master key set a session's expiry.
    package static func fix(_ sessionId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "INSERT INTO fixedSessions(sessionId) VALUES (?) ON CONFLICT DO NOTHING", [.text(sessionId)])
    }

    /// Removes the remaining data of an ended session.
    static func drop(_ sessionId: String, in transaction: StoreTransaction) throws {
        for table in ["fixedSessions", "sessionTokens"] {
            try transaction.execute("DELETE FROM \(table) WHERE sessionId = ?", [.text(sessionId)])
        }
    }

    /// The newest sessions of an installation.
    static func newest(
        ofInstallation id: String, max: Int, _ reader: ObjectReader
    ) throws -> [JSON] {
        try reader.documents(
            Query(
                className: "_Session", where: ["installationId": .string(id)], order: ["-createdAt"], limit: max),
            caller: .master)
    }

    /// The newest session of a user.
    static func newest(of userId: String, _ reader: ObjectReader) throws -> JSON? {
        try reader.documents(
            Query(className: "_Session", where: ["user": .pointer("_User", userId)], order: ["-createdAt"], limit: 1),
            caller: .master
        ).first
    }

    /// Removes the installation id from a session, which stays valid.
    static func leaveInstallation(_ session: JSON, in transaction: StoreTransaction) throws {
        _ = try transaction.update(
            "_Session", session["objectId"]?.stringValue ?? "", ["installationId": ["__op": "Delete"]], caller: .master)
    }

    /// Ends at most a page of expired sessions.
    static func closeExpired(in transaction: StoreTransaction) throws {
        let expired = Query(
            className: "_Session", where: ["expiresAt": ["$lt": transaction.now.wire]], limit: pageRows)
        for session in try transaction.documents(expired, caller: .master) { try end(session, in: transaction) }
    }

    /// - Returns: the number of ended sessions.
    private static func close(where condition: JSON, in transaction: StoreTransaction) throws -> Int {
        var ended = 0
        try transaction.forEach("_Session", where: condition) { _, session in
            try end(session, in: transaction)
            ended += 1
        }
        return ended
    }

    static func end(_ session: JSON, in transaction: StoreTransaction) throws {
        let sessionId = session["objectId"]?.stringValue ?? ""
        try transaction.delete("_Session", sessionId, caller: .master)
        try drop(sessionId, in: transaction)
        noteChange(of: session, in: transaction)
    }

    /// Counts the end or change of a session as a change of its user's object. Until such a change the gateway answers
    /// `GET /users/me` from its memory.
    static func noteChange(of session: JSON?, in transaction: StoreTransaction) {
        guard let userId = session?["user"]?.pointerTarget?.objectId else { return }
        transaction.noteChange(ofClass: "_User", userId)
    }

    /// `r:` and 128 random bits in hex.
    static func newToken() -> String { "r:" + Hex.random(bytes: 16) }
}
