import Cryptography
import Foundation
import ParseProtocol
import ProcessKit

/// The key that protects the credentials stored by `users`, so that a copy of the database does not give access to
/// accounts.
///
/// It is stored in a separate file beside the database. Each purpose has a derived key, so that values of different
/// purposes cannot be exchanged.
package struct AccountKey: Sendable {
    package enum Purpose: String, Sendable {
        case sessionToken, anonymousId, device, mailAddress, secondFactor, keptReply
    }

    package static let bytes = KeyFile.bytes

    private let root: SymmetricKey

    /// - Parameter secret: `bytes` random bytes.
    package init(_ secret: [UInt8]) {
        precondition(secret.count == Self.bytes, "The key of the accounts has \(Self.bytes) bytes.")
        root = SymmetricKey(data: secret)
    }

    private func key(for purpose: Purpose) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: root, info: Data("satchel.users.\(purpose.rawValue)".utf8),
            outputByteCount: Self.bytes)
    }

    /// A keyed hash (HMAC-SHA256) in hex. Equal texts have equal hashes. Without the key, neither decoding nor guessing
    /// the text is possible.
    package func digest(_ text: String, for purpose: Purpose) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key(for: purpose)).hex
    }

    /// Encrypts with AES-GCM.
    /// - Parameter owner: the owner's id, which is authenticated; the value cannot be opened for another owner.
    package func seal(_ plain: [UInt8], for purpose: Purpose, of owner: String) throws -> [UInt8] {
        try AES.GCM.seal(plain, using: key(for: purpose), authenticating: Data(owner.utf8)).combined
    }

    /// - Returns: nil for data that was not sealed with this key, purpose and owner.
    package func open(_ sealed: [UInt8], for purpose: Purpose, of owner: String) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? AES.GCM.open(box, using: key(for: purpose), authenticating: Data(owner.utf8))
    }
}
