import Cryptography
import Foundation
import ObjectStore
import ParseProtocol
import ServiceKit

/// The invitations of operators that wait for an answer. Of a token only the SHA-256 is stored, so that a reader of
/// the database cannot accept one. An accepted or revoked invitation is deleted; the audit log keeps its history.
enum Invitations {
    struct Invitation: Equatable, Sendable {
        let id: String
        let email: String
        /// The name of an operators' role.
        let role: String
        /// The id of the admin who invited; empty for the master key.
        let invitedBy: String
    }

    static let tables = [
        """
        CREATE TABLE operatorInvitations(id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, email TEXT NOT NULL, \
        address TEXT NOT NULL, role TEXT NOT NULL, invitedBy TEXT NOT NULL, invitedAt INTEGER NOT NULL, \
        expiresAt INTEGER NOT NULL, UNIQUE(address, role)) WITHOUT ROWID
        """
    ]

    static let hours: Int64 = 7 * 24
    /// Limit of stored invitations.
    static let countMax: Int64 = 100
    /// An expired invitation can be sent again for this long.
    private static let keptAfterwards = Duration.seconds(30 * 86_400)
    private static let columns = "id, email, role, invitedBy"

    /// Adds an invitation, replacing the one of the same address into the same role.
    /// - Returns: the invitation and its token.
    /// - Throws: `.validationError` (142) when there are `countMax` others.
    static func add(
        _ email: String, into role: String, by userId: String, in transaction: StoreTransaction
    ) throws -> (Invitation, token: String) {
        let address = AccountNames.folded(email)
        try transaction.execute(
            "DELETE FROM operatorInvitations WHERE address = ? AND role = ?", [.text(address), .text(role)])
        let count = try transaction.rows("SELECT count(*) AS n FROM operatorInvitations").first?.int("n")
        guard count ?? 0 < countMax else {
            throw ParseError(.validationError, "There are \(countMax) invitations. Revoke one first.")
        }
        let invitation = Invitation(id: Names.random(10), email: email, role: role, invitedBy: userId)
        let token = newToken()
        try transaction.execute(
            """
            INSERT INTO operatorInvitations(id, hash, email, address, role, invitedBy, invitedAt, expiresAt)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .text(invitation.id), .text(hash(token)), .text(email), .text(address), .text(role), .text(userId),
                .int(transaction.now.milliseconds), .int(end(transaction)),
            ])
        return (invitation, token)
    }

    /// Gives an invitation a new token and a new end. The former token is void.
    /// - Returns: nil when there is no such invitation.
    static func renew(
        _ id: String, by userId: String, in transaction: StoreTransaction
    ) throws -> (Invitation, token: String)? {
        let token = newToken()
        let renewed = try transaction.rows(
            """
            UPDATE operatorInvitations SET hash = ?, invitedBy = ?, invitedAt = ?, expiresAt = ? WHERE id = ?
            RETURNING \(columns)
            """,
            [
                .text(hash(token)), .text(userId), .int(transaction.now.milliseconds), .int(end(transaction)),
                .text(id),
            ]
        ).first.map(Invitation.init)
        guard let renewed else { return nil }
        return (renewed, token)
    }

    /// The invitation of a valid token; does not use it up.
    static func open(_ token: String, at now: Timestamp, _ reader: ObjectReader) throws -> Invitation? {
        try reader.rows(
            "SELECT \(columns) FROM operatorInvitations WHERE hash = ? AND expiresAt > ?",
            [.text(hash(token)), .int(now.milliseconds)]
        ).first.map(Invitation.init)
    }

    /// Uses up a token, in one statement.
    /// - Returns: nil when it is unknown, used or expired.
    static func use(_ token: String, in transaction: StoreTransaction) throws -> Invitation? {
        try transaction.rows(
            "DELETE FROM operatorInvitations WHERE hash = ? AND expiresAt > ? RETURNING \(columns)",
            [.text(hash(token)), .int(transaction.now.milliseconds)]
        ).first.map(Invitation.init)
    }

    /// - Returns: the removed invitation; nil when there is none.
    static func remove(_ id: String, in transaction: StoreTransaction) throws -> Invitation? {
        try transaction.rows("DELETE FROM operatorInvitations WHERE id = ? RETURNING \(columns)", [.text(id)])
            .first.map(Invitation.init)
    }

    /// Removes the invitations that a user sent, and those to the addresses.
    static func removeAll(by userId: String, to addresses: [String], in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM operatorInvitations WHERE invitedBy = ?", [.text(userId)])
        for address in addresses {
            try transaction.execute(
                "DELETE FROM operatorInvitations WHERE address = ?", [.text(AccountNames.folded(address))])
        }
    }

    static func removeOld(in transaction: StoreTransaction) throws {
        let end = transaction.now.advanced(by: .zero - keptAfterwards)
        try transaction.execute("DELETE FROM operatorInvitations WHERE expiresAt < ?", [.int(end.milliseconds)])
    }

    /// All invitations for operators, newest first.
    static func shown(at now: Timestamp, _ reader: ObjectReader) throws -> [JSON] {
        let rows = try reader.rows(
            "SELECT \(columns), invitedAt, expiresAt FROM operatorInvitations ORDER BY invitedAt DESC, id")
        return try rows.map { row -> JSON in
            let invitation = try Invitation(row)
            let expiresAt = try Timestamp(milliseconds: row.int("expiresAt"))
            let inviter = try reader.documentIfFound("_User", invitation.invitedBy, caller: .master)
            return try [
                "invitationId": .string(invitation.id), "email": .string(invitation.email),
                "role": .string(invitation.role),
                "invitedBy": .string(inviter?["username"]?.stringValue ?? ""),
                "invitedAt": Timestamp(milliseconds: row.int("invitedAt")).wire, "expiresAt": expiresAt.wire,
                "isExpired": .bool(expiresAt <= now),
            ]
        }
    }

    private static func end(_ transaction: StoreTransaction) -> Int64 {
        transaction.now.advanced(by: .seconds(hours * 3600)).milliseconds
    }

    private static func newToken() -> String { Hex.random(bytes: 16) }

    /// 128 random bits need no salt. The timing of a look-up by hash reveals nothing about the token.
    private static func hash(_ token: String) -> String {
        SHA256.hash(data: Data(token.utf8)).hex
    }
}

extension Invitations.Invitation {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            id: try row.text("id"), email: try row.text("email"), role: try row.text("role"),
            invitedBy: try row.text("invitedBy"))
    }
}
