import Cryptography
import ParseProtocol

/// The SHA-256 of a request's content, stored with its idempotency key. A hash, because the request contains cards,
/// addresses and tokens.
enum RequestFingerprint {
    /// - Parameter wanted: everything that a repeated request must match.
    static func of(_ wanted: JSON) -> String { SHA256.hash(data: wanted.serialized).hex }
}
