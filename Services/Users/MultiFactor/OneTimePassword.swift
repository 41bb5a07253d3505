import Cryptography
import Foundation
import ParseProtocol

/// The codes of an authenticator app: TOTP (RFC 6238) with SHA-1, six digits and steps of 30 s, the defaults of Parse
/// Server's `mfa` adapter.
package struct OneTimePassword: Sendable {
    /// Length of a step.
    package static let stepSeconds: Int64 = 30
    package static let digits = 6
    /// Accepted steps before and after the present one: a phone's clock may be off by half a minute (RFC 6238, 5.2 and
    /// 6).
    private static let drift: Int64 = 1

    private let key: SymmetricKey

    package init(secret: [UInt8]) { key = SymmetricKey(data: secret) }

    /// The number of the step at a moment.
    package static func step(at moment: Timestamp) -> Int64 { moment.milliseconds / 1000 / stepSeconds }

    /// The code of a step (HOTP, RFC 4226, 5.3).
    package func code(of step: Int64, digits: Int = digits) -> String {
        let counter = withUnsafeBytes(of: UInt64(bitPattern: step).bigEndian) { Data($0) }
        let digest = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: key))
        let offset = Int((digest.last ?? 0) & 0x0F)
        let number = digest.dropFirst(offset).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let text = String(number)
        return String((String(repeating: "0", count: 10) + text).suffix(digits))
    }

    /// The step near `now` with this code; nil if there is none. Compares all steps in constant time.
    package func step(of code: String, at now: Timestamp) -> Int64? {
        let present = Self.step(at: now)
        let given = SymmetricKey(data: Data(code.utf8.prefix(64)))
        var found: Int64?
        for step in (present - Self.drift)...(present + Self.drift)
        where SymmetricKey(data: Data(self.code(of: step).utf8)) == given { found = step }
        return found
    }
}
