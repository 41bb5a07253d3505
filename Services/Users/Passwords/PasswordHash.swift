import Cryptography
import Foundation
import ParseProtocol
import ProcessKit
import ServiceKit

/// The cost of a hash: memory 128·r·2^ln bytes (16 MiB), time proportional to p.
package struct ScryptCost: Hashable, Sendable {
    /// Logarithm of the rounds.
    package var logRounds = 14
    package var blockSize = 8
    package var parallelism: Int

    /// OWASP's parameters for 16 MiB have p = 5 (Password Storage Cheat Sheet, scrypt).
    package init(parallelism: Int = 5) { self.parallelism = max(1, min(parallelism, 64)) }

    /// `SATCHEL_PASSWORD_WORK` is p, 1 to 64.
    init(_ settings: Settings) throws(StartupProblem) {
        self.init(parallelism: try settings.number("satchel.password.work", 1...64, default: 5))
    }
}

/// A salted scrypt hash of a password, with its parameters, in PHC string format:
/// `$scrypt$ln=14,r=8,p=5$<salt>$<hash>`, both in Base64 without padding.
package struct PasswordHash: Sendable {
    private let cost: ScryptCost
    private let salt: [UInt8]
    private let key: SymmetricKey

    private static let saltBytes = 16
    private static let keyBytes = 32

    /// Hashes with a new random salt. Takes tens to hundreds of milliseconds.
    package init(of password: String, cost: ScryptCost) throws {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<PasswordHash.saltBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        try self.init(of: password, salt: salt, cost: cost)
    }

    private init(of password: String, salt: [UInt8], cost: ScryptCost) throws {
        // No user has an empty password, and the library does not accept one.
        let bytes = password.isEmpty ? [0] : Array(password.utf8)
        self.cost = cost
        self.salt = salt
        key = try KDF.Scrypt.deriveKey(
            from: bytes, salt: salt, outputByteCount: PasswordHash.keyBytes, rounds: 1 << cost.logRounds,
            blockSize: cost.blockSize, parallelism: cost.parallelism)
    }

    /// Parses the stored form; nil if invalid.
    package init?(phc text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt",
            let salt = PasswordHash.decode(parts[3]), salt.count >= 8, let key = PasswordHash.decode(parts[4]),
            key.count == PasswordHash.keyBytes
        else { return nil }
        var numbers: [Substring: Int] = [:]
        for parameter in parts[2].split(separator: ",") {
            let pair = parameter.split(separator: "=")
            guard pair.count == 2, let number = Int(pair[1]) else { return nil }
            numbers[pair[0]] = number
        }
        guard let logRounds = numbers["ln"], (1...20).contains(logRounds), let blockSize = numbers["r"],
            (1...32).contains(blockSize), let parallelism = numbers["p"], (1...64).contains(parallelism)
        else { return nil }
        cost = ScryptCost(parallelism: parallelism, logRounds: logRounds, blockSize: blockSize)
        self.salt = salt
        self.key = SymmetricKey(data: key)
    }

    package var phc: String {
        let digest = key.withUnsafeBytes { Array($0) }
        return "$scrypt$ln=\(cost.logRounds),r=\(cost.blockSize),p=\(cost.parallelism)"
            + "$\(PasswordHash.encode(salt))$\(PasswordHash.encode(digest))"
    }

    /// Compares in constant time.
    package func matches(_ password: String) throws -> Bool {
        // The comparison of `SymmetricKey` takes constant time.
        try PasswordHash(of: password, salt: salt, cost: cost).key == key && !password.isEmpty
    }

    private static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "=", with: "")
    }

    private static func decode(_ text: Substring) -> [UInt8]? {
        Data(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)).map(Array.init)
    }
}

extension ScryptCost {
    fileprivate init(parallelism: Int, logRounds: Int, blockSize: Int) {
        self.init(parallelism: parallelism)
        self.logRounds = logRounds
        self.blockSize = blockSize
    }
}
