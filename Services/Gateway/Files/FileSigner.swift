import Cryptography
import Foundation
import ParseProtocol

/// Signs and checks the URLs of private files: `?expires=<seconds since 1970>&signature=<HMAC-SHA256 in hex>`.
///
/// The name shows whether a file is private, so no look-up is needed, and the refusal does not reveal whether a file
/// exists. The signature covers the name and the expiry, so that neither can be changed.
package struct FileSigner: Sendable {
    /// One week. A client that needs longer requests a new URL.
    package static let secondsMax: Int64 = 604_800
    private static let secondsMin: Int64 = 1

    private let key: SymmetricKey
    /// The default lifetime of a URL.
    let seconds: Int64

    /// - Parameter key: random bytes.
    package init(key: [UInt8], seconds: Int64) {
        self.key = SymmetricKey(data: key)
        self.seconds = seconds
    }

    /// The query string of a file's URL.
    /// - Parameter seconds: the lifetime, 1 to `secondsMax`; nil for the configured one.
    package func query(for name: String, now: Timestamp, seconds: Int64? = nil) -> String {
        let life = min(max(seconds ?? self.seconds, Self.secondsMin), Self.secondsMax)
        let expires = now.milliseconds / 1000 + life
        return "expires=\(expires)&signature=\(signature(of: name, expires).hex)"
    }

    /// The seconds until a URL expires; nil when it is not valid.
    package func secondsLeft(of name: String, query: String?, now: Timestamp) -> Int64? {
        let values = (try? ParseRequest.pairs(Substring(query ?? "").utf8)) ?? [:]
        guard let text = values["expires"], let expires = Int64(text), String(expires) == text,
            let signature = values["signature"]
        else { return nil }
        let isOurs = ConstantTime.areEqual(
            Array(signature.utf8), Array(self.signature(of: name, expires).hex.utf8))
        let left = expires.subtractingReportingOverflow(now.milliseconds / 1000)
        return isOurs && !left.overflow && left.partialValue > 0 ? left.partialValue : nil
    }

    private func signature(of name: String, _ expires: Int64) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data("\(name)\n\(expires)".utf8), using: key)
    }
}
