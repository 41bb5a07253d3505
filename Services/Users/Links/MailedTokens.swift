import Cryptography
import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The tokens in mailed links. Each can be used once. Only the SHA-256 is stored, so that a reader of the database
/// cannot use one.
package enum MailedTokens {
    /// The user and the address of a mailed link.
    package struct Owner: Equatable, Sendable {
        package let userId: String
        package let email: String
    }

    /// A new token: 128 random bits in hex.
    package static func make(
        _ link: MailedLink, for owner: Owner, lifetime: Duration, in transaction: StoreTransaction
    ) throws -> String {
        let token = Hex.random(bytes: 16)
        try transaction.execute(
            "INSERT INTO mailedTokens(hash, link, userId, email, expiresAt) VALUES (?, ?, ?, ?, ?)",
            [
                .text(hash(token)), .int(Int64(link.rawValue)), .text(owner.userId), .text(owner.email),
                .int(transaction.now.advanced(by: lifetime).milliseconds),
            ])
        return token
    }

    /// The owner of a valid token; does not use it up.
    package static func owner(
        _ link: MailedLink, _ token: String, at now: Timestamp, _ reader: ObjectReader
    ) throws -> Owner? {
        try reader.rows(
            "SELECT userId, email FROM mailedTokens WHERE hash = ? AND link = ? AND usedAt IS NULL AND expiresAt > ?",
            [.text(hash(token)), .int(Int64(link.rawValue)), .int(now.milliseconds)]
        ).first.map(Owner.init)
    }

    /// Uses up a token in one statement, and voids all others of the same user and purpose.
    /// - Returns: nil when it is unknown, used or expired.
    package static func use(_ link: MailedLink, _ token: String, in transaction: StoreTransaction) throws -> Owner? {
        let used = try transaction.rows(
            """
            UPDATE mailedTokens SET usedAt = ?1 WHERE hash = ?2 AND link = ?3 AND usedAt IS NULL AND expiresAt > ?1
            RETURNING userId, email
            """,
            [.int(transaction.now.milliseconds), .text(hash(token)), .int(Int64(link.rawValue))]
        ).first.map(Owner.init)
        guard let used else { return nil }
        try transaction.execute(
            "DELETE FROM mailedTokens WHERE userId = ? AND link = ? AND usedAt IS NULL",
            [.text(used.userId), .int(Int64(link.rawValue))])
        return used
    }

    /// The owner of a used token.
    package static func formerOwner(_ link: MailedLink, _ token: String, _ reader: ObjectReader) throws -> Owner? {
        try reader.rows(
            "SELECT userId, email FROM mailedTokens WHERE hash = ? AND link = ? AND usedAt IS NOT NULL",
            [.text(hash(token)), .int(Int64(link.rawValue))]
        ).first.map(Owner.init)
    }

    /// Voids a user's unused links; used ones are kept so that they can be recognised.
    static func void(_ link: MailedLink, of userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM mailedTokens WHERE userId = ? AND link = ? AND usedAt IS NULL",
            [.text(userId), .int(Int64(link.rawValue))])
    }

    static func removeAll(of userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM mailedTokens WHERE userId = ?", [.text(userId)])
    }

    static func removeExpired(in transaction: StoreTransaction) throws {
        try transaction.execute(
            "DELETE FROM mailedTokens WHERE expiresAt <= ?", [.int(transaction.now.milliseconds)])
    }

    /// 128 random bits need no salt. The timing of a look-up by hash reveals nothing about the token.
    private static func hash(_ token: String) -> String {
        SHA256.hash(data: Data(token.utf8)).hex
    }
}

extension MailedTokens.Owner {
    fileprivate init(_ row: SQLRow) throws {
        self.init(userId: try row.text("userId"), email: try row.text("email"))
    }

    package init(_ userId: String, _ email: String) { self.init(userId: userId, email: email) }
}
