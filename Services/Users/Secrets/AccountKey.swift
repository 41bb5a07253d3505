import Cryptography
import Foundation
import ParseProtocol
import ProcessKit

/// The key under which `users` keeps what opens accounts, so that a copy of its database is not a set of keys.
///
/// It lies beside the database in a file of its own. Each purpose has a key derived from it, so that what is made for
/// one means nothing for another.
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

    /// A keyed hash (HMAC-SHA256) in hex: equal texts have equal ones, and without the key nobody can tell the text or
    /// try texts.
    package func digest(_ text: String, for purpose: Purpose) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key(for: purpose)).hex
    }

    /// Encrypts with AES-GCM.
    /// - Parameter owner: whose it is; it cannot be opened as somebody else's.
    package func seal(_ plain: [UInt8], for purpose: Purpose, of owner: String) throws -> [UInt8] {
        try AES.GCM.seal(plain, using: key(for: purpose), authenticating: Data(owner.utf8)).combined
    }

    /// - Returns: nil for what was not sealed with this key, for this purpose and owner.
    package func open(_ sealed: [UInt8], for purpose: Purpose, of owner: String) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? AES.GCM.open(box, using: key(for: purpose), authenticating: Data(owner.utf8))
    }
}
