import Cryptography
import Foundation
import ParseProtocol

/// The keys that identify repeated requests. The request id alone is not enough: iOS SDKs from 4.1 to 6.1.1 send the
/// same id with every request of a launch. A request is a repetition when id, method, path, query and body are equal.
package struct DeduplicationKeys: Sendable {
    /// Without the secret, a reader of the stored digests could test guesses of bodies, which may hold passwords.
    private let secret: SymmetricKey

    package init(masterKey: String) {
        secret = SymmetricKey(data: SHA256.hash(data: Array("request ids \(masterKey)".utf8)))
    }

    func key(_ id: String, _ request: ParseRequest) -> String {
        key(
            id: id, method: request.method.rawValue, path: RoutePattern.route(request.path), query: request.query ?? "",
            body: request.document)
    }

    /// The write that a client's `Idempotency-Key` identifies.
    /// - Parameter client: different for any two clients.
    func write(_ key: String, of client: String, _ request: ParseRequest) -> KeyedWrite {
        write(key, of: client, digest: self.key("write", request))
    }

    /// - Parameter digest: the digest of the request.
    package func write(_ key: String, of client: String, digest: String) -> KeyedWrite {
        let holder = "\(client.utf8.count) \(client) \(key)"
        return KeyedWrite(
            key: HMAC<SHA256>.authenticationCode(for: Array("key \(holder)".utf8), using: secret).hex,
            request: digest,
            secret: SymmetricKey(
                data: HMAC<SHA256>.authenticationCode(for: Array("answer \(holder)".utf8), using: secret)))
    }

    /// The id in plain text, so that operators can find it, and a digest of the rest.
    package func key(id: String, method: String, path: String, query: String, body: [UInt8]) -> String {
        var digest = HMAC<SHA256>(key: secret)
        for part in [method, path, query] {
            // The length precedes each part, so that two sequences of parts never give the same input.
            digest.update(data: Array("\(part.utf8.count) \(part)".utf8))
        }
        digest.update(data: body)
        return "\(id) " + digest.finalize().prefix(16).hex
    }
}
