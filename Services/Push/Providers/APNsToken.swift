import ParseProtocol
import SignedTokens
import Synchronization

/// The signed token that authenticates Satchel at APNs. It is valid for an hour and must not be renewed more often than
/// every 20 minutes
/// (https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns).
final class APNsToken: Sendable {
    private struct Signed {
        let text: String
        let madeAt: ContinuousClock.Instant
    }

    private let signer: TokenSigner
    private let teamId: String
    private let signed = Mutex<Signed?>(nil)

    private static let lifetime = Duration.seconds(50 * 60)

    /// - Throws: `TokenProblem.key` when `pem` is not a P-256 key.
    init(pem: String, keyId: String, teamId: String) throws(TokenProblem) {
        let signer = try TokenSigner(pem: pem, keyId: keyId)
        guard signer.algorithm == .es256 else { throw .key }
        self.signer = signer
        self.teamId = teamId
    }

    /// The current token.
    func current() throws(TokenProblem) -> String {
        let now = ContinuousClock.now
        if let signed = signed.withLock({ $0 }), now - signed.madeAt < Self.lifetime { return signed.text }
        let issued = Timestamp.now.milliseconds / 1000
        let new = Signed(text: try signer.token(["iss": .string(teamId), "iat": .int(issued)]), madeAt: now)
        // Another thread may have signed meanwhile; use its token.
        return signed.withLock { signed in
            if let other = signed, now - other.madeAt < Self.lifetime { return other.text }
            signed = new
            return new.text
        }
    }

    /// Discards a token that APNs reported as expired, unless it was already replaced.
    func expire(_ text: String) {
        signed.withLock { if $0?.text == text { $0 = nil } }
    }
}
