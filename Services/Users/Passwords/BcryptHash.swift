import CCrypt
import ParseProtocol

/// A bcrypt hash of Parse Server or hosted Parse, checked by libxcrypt. Satchel makes no such hashes: the next sign-in
/// replaces one by a `PasswordHash`.
package struct BcryptHash: Sendable {
    /// Limit of the cost: 14 takes about a second, each step more twice as long.
    package static let costMax = 14
    /// bcrypt ignores all further bytes of a password.
    private static let passwordBytes = 72
    private static let digestBytes = 31

    /// The logarithm of the rounds, 4 to 31.
    package let cost: Int
    /// Cost and salt in the form that `crypt` takes.
    private let setting: String
    private let digest: [UInt8]

    /// Parses `$2a$`, `$2b$` or `$2y$`, two digits, `$`, a salt of 22 characters and a digest of 31; nil for anything
    /// else. Correct programs calculate all three kinds in the same way. `crypt` changes the result of `$2a$` for some
    /// passwords, so each one is calculated as `$2y$`.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, bytes.starts(with: "$2".utf8), "aby".utf8.contains(bytes[2]),
            bytes[3] == UInt8(ascii: "$"), bytes[4..<6].allSatisfy(Self.isDigit), bytes[6] == UInt8(ascii: "$"),
            bytes[7...].allSatisfy(Self.isSaltCharacter),
            let cost = Int(String(decoding: bytes[4..<6], as: UTF8.self)), (4...31).contains(cost)
        else { return nil }
        self.cost = cost
        setting = "$2y$" + String(decoding: bytes[4..<29], as: UTF8.self)
        digest = Array(bytes[29...])
    }

    /// Whether the hash covers the whole password. A longer one may differ from the user's after the part that it
    /// covers.
    package static func covers(_ password: String) -> Bool { password.utf8.count < passwordBytes }

    /// Compares in constant time. False for a password with NUL, at which `crypt` would cut it off.
    package func matches(_ password: String) throws -> Bool {
        guard cost <= Self.costMax else { return false }
        let bytes = Array(password.utf8)
        let found = try Self.digest(of: bytes, setting)
        let difference = zip(found, digest).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 && found.count == digest.count && !bytes.isEmpty && !bytes.contains(0)
    }

    /// Takes the time by which a hash of the cost `all` takes longer than one of `part`, or all of it if `part` is nil.
    static func spend(from part: Int?, to all: Int) throws {
        // 2ⁿ rounds and then 2ⁿ, 2ⁿ⁺¹ … are together 2 to the power of the limit.
        for cost in part.map({ Array(stride(from: $0, to: all, by: 1)) }) ?? [all] {
            let number = cost < 10 ? "0\(cost)" : "\(cost)"
            _ = try digest(of: [UInt8(ascii: "a")], "$2y$\(number)$" + String(repeating: ".", count: 22))
        }
    }

    private static func digest(of password: [UInt8], _ setting: String) throws -> [UInt8] {
        let bytes = Int(satchel_crypt_bytes())
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        defer { memory.deallocate() }
        let phrase = password.prefix(passwordBytes).map { CChar(bitPattern: $0) } + [0]
        guard let text = crypt_rn(phrase, setting, memory, Int32(bytes)) else { throw ParseError.internalError }
        return Array(String(cString: text).utf8.suffix(digestBytes))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isSaltCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
