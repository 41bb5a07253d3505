import Foundation
import JWTKit
import Synchronization

/// The signed token that says to APNs who we are. It is valid for an hour and must not be renewed more often than every 20
/// minutes (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
final class APNsToken: Sendable {
    private struct Signed {
        let text: String
        let madeAt: ContinuousClock.Instant
    }

    private struct Claims: JWTPayload {
        let iss: String
        let iat: Int
        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    private let keys = JWTKeyCollection()
    private let key: ES256PrivateKey
    private let keyId: String
    private let teamId: String
    private let signed = Mutex<Signed?>(nil)

    private static let lifetime = Duration.seconds(50 * 60)

    /// - Throws: when `pem` is no P-256 key.
    init(pem: String, keyId: String, teamId: String) throws {
        key = try ES256PrivateKey(pem: pem)
        self.keyId = keyId
        self.teamId = teamId
    }

    /// The token to send now.
    func current() async throws -> String {
        let now = ContinuousClock.now
        if let signed = signed.withLock({ $0 }), now - signed.madeAt < Self.lifetime { return signed.text }
        let id = JWKIdentifier(string: keyId)
        await keys.add(ecdsa: key, kid: id)
        let claims = Claims(iss: teamId, iat: Int(Date.now.timeIntervalSince1970))
        let new = Signed(text: try await keys.sign(claims, kid: id), madeAt: now)
        // Others may have signed at the same time; one of the tokens is enough.
        return signed.withLock { signed in
            if let other = signed, now - other.madeAt < Self.lifetime { return other.text }
            signed = new
            return new.text
        }
    }

    /// APNs calls this token expired; the next one is made anew, unless that has happened.
    func expire(_ text: String) {
        signed.withLock { if $0?.text == text { $0 = nil } }
    }
}
