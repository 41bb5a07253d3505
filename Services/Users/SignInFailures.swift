import Glibc
import ObjectStore
import ParseProtocol
import ServiceKit

/// Whose wrong passwords are counted.
package enum SignInSubject: Hashable, Sendable {
    case account(String)
    /// A name nobody has, so that it locks like one that somebody has.
    case unknown(String)
    case address(String)

    /// The address of a client, if it is known.
    init?(clientAddress: String) {
        guard !clientAddress.isEmpty else { return nil }
        self = .address(clientAddress)
    }

    package var key: String {
        switch self {
        case .account(let id): "account:\(id)"
        case .unknown(let name): "unknown:\(AccountNames.folded(name).prefix(200))"
        case .address(let address): "address:\(SignInSubject.network(address))"
        }
    }

    /// What one client can easily change is left out of an address: of IPv6 the 64 bits that a network hands out freely.
    package static func network(_ address: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, address, &bytes) == 1 else { return String(address.prefix(64)) }
        return withUnsafeBytes(of: &bytes) { bytes in
            let isMappedIPv4 = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            if isMappedIPv4 { return bytes.suffix(4).map(String.init).joined(separator: ".") }
            return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "/64"
        }
    }

    /// Wrong passwords within a quarter of an hour before the subject has to wait. An address may be an office.
    package var failuresMax: Int64 {
        switch self {
        case .account, .unknown: 5
        case .address: 30
        }
    }

    package static let window = Duration.seconds(15 * 60)

    /// The answer to a sign-in while the subject has to wait; nil when it need not.
    package func refusal(failures: Int64, until end: Timestamp, now: Timestamp) -> ParseError? {
        guard failures >= failuresMax, end > now else { return nil }
        let minutes = (end.milliseconds - now.milliseconds + 59_999) / 60_000
        switch self {
        case .account, .unknown:
            return ParseError(
                .objectNotFound,
                "Your account is locked due to multiple failed login attempts. Please try again after \(minutes) minute(s)."
            )
        case .address:
            return ParseError(
                .connectionFailed,
                "Too many failed sign-ins from this address. Please try again after \(minutes) minute(s).")
        }
    }
}

/// The counters of wrong passwords.
enum SignInFailures {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS signInFailures(subject TEXT PRIMARY KEY, failures INTEGER NOT NULL, endsAt INTEGER NOT NULL)
        WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS signInFailuresByEnd ON signInFailures(endsAt)",
    ]

    /// - Throws: the refusal when the subject has to wait.
    static func check(_ subject: SignInSubject, at now: Timestamp, _ reader: some ObjectReading) throws {
        let row = try reader.rows("SELECT failures, endsAt FROM signInFailures WHERE subject = ?", [.text(subject.key)])
            .first
        if let row, let refusal = try subject.refusal(row, now: now) { throw refusal }
    }

    /// Counts one more, in one statement. The window begins with the first failure and again with the one that locks.
    static func count(_ subject: SignInSubject, in transaction: StoreTransaction) throws {
        _ = try transaction.rows(
            """
            INSERT INTO signInFailures(subject, failures, endsAt) VALUES (?1, 1, ?2)
            ON CONFLICT(subject) DO UPDATE SET
                failures = CASE WHEN endsAt <= ?3 THEN 1 ELSE failures + 1 END,
                endsAt = CASE WHEN endsAt <= ?3 OR failures + 1 = ?4 THEN excluded.endsAt ELSE endsAt END
            RETURNING failures
            """,
            [
                .text(subject.key), .int(transaction.now.advanced(by: SignInSubject.window).milliseconds),
                .int(transaction.now.milliseconds), .int(subject.failuresMax),
            ])
    }

    static func clear(_ subject: SignInSubject, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM signInFailures WHERE subject = ?", [.text(subject.key)])
    }

    static func clearExpired(in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM signInFailures WHERE endsAt <= ?", [.int(transaction.now.milliseconds)])
    }
}

extension SignInSubject {
    fileprivate func refusal(_ row: SQLRow, now: Timestamp) throws -> ParseError? {
        try refusal(failures: row.int("failures"), until: Timestamp(milliseconds: row.int("endsAt")), now: now)
    }
}
