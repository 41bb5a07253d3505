import Cryptography
import Foundation
import ParseProtocol

/// Signs the URLs of private files and checks such URLs:
/// `?expires=<seconds since 1970>&signature=<HMAC-SHA256 in hex>`.
///
/// A name tells whether its file is private, so that nothing has to be looked up for this, and a file that is not there
/// is refused as one that is. Signed is the name with the time at which the URL ends: neither can be exchanged.
package struct FileSigner: Sendable {
    /// A week; what is longer is better asked for again.
    package static let secondsMax: Int64 = 604_800
    private static let secondsMin: Int64 = 1

    private let key: SymmetricKey
    /// Life of a URL when nobody asks for another.
    let seconds: Int64

    /// - Parameter key: random bytes.
    package init(key: [UInt8], seconds: Int64) {
        self.key = SymmetricKey(data: key)
        self.seconds = seconds
    }

    /// The query string of a URL for a file.
    /// - Parameter seconds: how long it works, 1 to `secondsMax`; nil for as long as the settings say.
    package func query(for name: String, now: Timestamp, seconds: Int64? = nil) -> String {
        let life = min(max(seconds ?? self.seconds, Self.secondsMin), Self.secondsMax)
        let expires = now.milliseconds / 1000 + life
        return "expires=\(expires)&signature=\(signature(of: name, expires).hex)"
    }

    /// Seconds for which a URL still works; nil when it does not.
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
