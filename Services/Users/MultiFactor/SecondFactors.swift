import Cryptography
import Foundation
import ObjectStore
import ParseProtocol
import ServiceKit

/// The users' second factors. Secrets are encrypted and stored outside the objects, so that no read, export or query of
/// an object can contain one. The object only has `{"mfa":{"status":"enabled"}}`.
package enum SecondFactors {
    /// The name in `authData`.
    static let name = "mfa"
    /// The value in the user's object.
    static let status: JSON = ["status": "enabled"]

    /// As in Parse Server: two codes of 30 characters.
    static let recoveryCodes = 2
    private static let recoveryCodeCharacters = 30

    /// The texts are Parse Server's, and so are the codes except for `missing`: on its code, apps ask for a second
    /// factor.
    package static let missing = ParseError(.mfaTokenRequired, "Missing additional authData mfa")
    package static let invalid = ParseError(.scriptFailed, "Invalid MFA token")
    static let needsFirst = ParseError(
        .invalidAuthData, "An anonymous user needs a user name and a password before a second factor.")
    package static let malformed = ParseError(.scriptFailed, "Invalid MFA data")

    package static func isEnrolled(_ userId: String, _ reader: ObjectReader) throws -> Bool {
        try !reader.rows("SELECT 1 FROM secondFactors WHERE userId = ?", [.text(userId)]).isEmpty
    }

    /// Whether a sign-in of the user needs a code: `SATCHEL_MFA` decides for customers, and an operator's second factor
    /// always counts.
    static func isAsked(of userId: String, _ settings: UsersSettings, _ reader: ObjectReader) throws -> Bool {
        guard try isEnrolled(userId, reader) else { return false }
        return try settings.asksSecondFactor || OperatorRoles.isHeld(by: userId, reader)
    }

    /// Enrols a second factor for the user, replacing any present one.
    /// - Parameter step: the step of the code that proved that the app has the secret; it is used up.
    /// - Returns: the recovery codes, which cannot be read again.
    package static func enrol(
        _ userId: String, secret: [UInt8], step: Int64, key: AccountKey, in transaction: StoreTransaction
    ) throws -> [String] {
        try remove(of: userId, in: transaction)
        try transaction.execute(
            "INSERT INTO secondFactors(userId, secret, usedStep) VALUES (?, ?, ?)",
            [.text(userId), .blob([]), .int(step)])
        try keep(secret, of: userId, key, in: transaction)
        let codes = (0..<recoveryCodes).map { _ in Names.random(recoveryCodeCharacters) }
        for code in codes {
            try transaction.execute(
                "INSERT INTO recoveryCodes(userId, hash) VALUES (?, ?)", [.text(userId), .text(hash(code))])
        }
        return codes
    }

    static func keep(
        _ secret: [UInt8], of userId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws {
        try transaction.execute(
            """
            INSERT INTO sealedSecrets(userId, sealed) VALUES (?, ?)
            ON CONFLICT(userId) DO UPDATE SET sealed = excluded.sealed
            """, [.text(userId), .blob(try key.seal(secret, for: .secondFactor, of: userId))])
    }

    static func remove(of userId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM sealedSecrets WHERE userId = ?", [.text(userId)])
        try transaction.execute("DELETE FROM secondFactors WHERE userId = ?", [.text(userId)])
        try transaction.execute("DELETE FROM recoveryCodes WHERE userId = ?", [.text(userId)])
    }

    /// Uses up a code of the authenticator app, or a recovery code. Each counts once; of the app's codes, only those
    /// after the last used one are accepted.
    /// - Returns: whether the code was valid.
    package static func use(
        _ token: String, of userId: String, key: AccountKey, in transaction: StoreTransaction
    ) throws -> Bool {
        if let step = try step(of: token, userId: userId, key, at: transaction.now, transaction) {
            return try !transaction.rows(
                "UPDATE secondFactors SET usedStep = ?1 WHERE userId = ?2 AND usedStep < ?1 RETURNING 1",
                [.int(step), .text(userId)]
            ).isEmpty
        }
        return try !transaction.rows(
            "UPDATE recoveryCodes SET usedAt = ? WHERE userId = ? AND hash = ? AND usedAt IS NULL RETURNING 1",
            [.int(transaction.now.milliseconds), .text(userId), .text(hash(token))]
        ).isEmpty
    }

    /// Whether the token is a code of the user, used or not. For checks before the transaction that uses it up: a
    /// repeated request, after a lost answer, must not count as a guess.
    static func knows(
        _ token: String, of userId: String, _ key: AccountKey, at now: Timestamp, _ reader: ObjectReader
    ) throws -> Bool {
        if try step(of: token, userId: userId, key, at: now, reader) != nil { return true }
        return try !reader.rows(
            "SELECT 1 FROM recoveryCodes WHERE userId = ? AND hash = ?", [.text(userId), .text(hash(token))]
        ).isEmpty
    }

    private static func step(
        of token: String, userId: String, _ key: AccountKey, at now: Timestamp, _ reader: ObjectReader
    ) throws -> Int64? {
        let row = try reader.rows(
            """
            SELECT coalesce(sealed, ?) AS sealed FROM secondFactors LEFT JOIN sealedSecrets USING(userId)
            WHERE userId = ?
            """, [.blob([]), .text(userId)]
        ).first
        guard let row else { return nil }
        // If the secret cannot be decrypted, no code is valid: the second factor remains in force.
        guard let secret = key.open(try row.blob("sealed"), for: .secondFactor, of: userId) else { return nil }
        return OneTimePassword(secret: secret).step(of: token, at: now)
    }

    /// 178 random bits need no salt.
    private static func hash(_ code: String) -> String {
        SHA256.hash(data: Data(code.utf8)).hex
    }
}

extension SecondFactors {
    /// Checks the second factor of a sign-in whose first factor is valid, in the sign-in's transaction. The transaction
    /// counts a wrong code before the next guess is checked. So the caller must commit it and answer `invalid`
    /// afterwards.
    /// - Throws: `.mfaTokenRequired` (211) without a code, the refusal of a locked account.
    /// - Returns: false for a wrong code.
    static func admits(
        _ attempt: SignInAttempt, _ token: String?, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> Bool {
        let userId = attempt.account
        guard try isEnrolled(userId, transaction) else { return true }
        let verdict = try SignInFailures.verdict(on: attempt, .code, at: transaction.now, transaction)
        if case .refused(let refusal) = verdict { throw refusal }
        guard let token else { throw missing }
        let judge = SignInGuard(attempt)
        if try use(token, of: userId, key: key, in: transaction) {
            try SignInFailures.clear(judge.cleared, in: transaction)
            return true
        }
        try SignInFailures.count(judge.counted(for: .code), in: transaction)
        return false
    }

    /// Checks, before a change of the user, the code that removes or replaces the present second factor.
    /// - Throws: `.mfaTokenRequired` (211) without a code, the refusal of a locked account.
    /// - Returns: false for a wrong code, which is counted.
    static func recognises(
        _ old: String?, of userId: String, _ key: AccountKey, in transaction: StoreTransaction
    ) throws -> Bool {
        guard try isEnrolled(userId, transaction) else { return true }
        let owner = SignInSubject.owner(userId)
        try SignInFailures.check(owner, at: transaction.now, transaction)
        guard let old else { throw missing }
        if try knows(old, of: userId, key, at: transaction.now, transaction) { return true }
        try SignInFailures.count(owner, in: transaction)
        return false
    }
}
