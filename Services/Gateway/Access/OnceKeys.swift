import Cryptography
import Foundation
import ParseProtocol

/// The keys by which a repetition is known. The id alone is not enough: iOS SDKs from 4.1 to 6.1.1 send one for all
/// requests of a launch, so that only the same request under the same id is one that was here before.
package struct OnceKeys: Sendable {
    /// The digests are stored, and bodies may hold passwords: without the key nobody tries which one fits.
    private let secret: SymmetricKey

    package init(masterKey: String) {
        secret = SymmetricKey(data: SHA256.hash(data: Array("request ids \(masterKey)".utf8)))
    }

    func key(_ id: String, _ request: ParseRequest) -> String {
        key(
            id: id, method: request.method.rawValue, path: RoutePattern.route(request.path), query: request.query ?? "",
            body: request.document)
    }

    /// The id, for operators who look for it, and a digest of the rest.
    package func key(id: String, method: String, path: String, query: String, body: [UInt8]) -> String {
        var digest = HMAC<SHA256>(key: secret)
        for part in [method, path, query] {
            // With its length, so that no part can be taken for the beginning of the next.
            digest.update(data: Array("\(part.utf8.count) \(part)".utf8))
        }
        digest.update(data: body)
        return "\(id) " + digest.finalize().prefix(16).hex
    }
}
