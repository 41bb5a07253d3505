import Cryptography
import ParseProtocol

/// Signs tokens with Satchel's private key: ES256 with a P-256 key, RS256 with an RSA key.
public struct TokenSigner: Sendable {
    /// The algorithm of the key.
    public let algorithm: TokenAlgorithm
    private let key: PrivateKey
    private let header: [UInt8]

    /// - Parameters:
    ///   - pem: the unencrypted private key.
    ///   - keyId: the name by which the other side knows the key.
    /// - Throws: `key` for an invalid or unsupported key.
    public init(pem: String, keyId: String) throws(TokenProblem) {
        do throws(CryptographyError) {
            key = try PrivateKey(pem: pem)
        } catch {
            throw .key
        }
        algorithm = key.algorithm == .p256 ? .es256 : .rs256
        header =
            JSON.object([
                "alg": .string(algorithm.rawValue), "kid": .string(keyId), "typ": "JWT",
            ]).serialized
    }

    /// - Throws: `signature` if signing fails, for example without memory.
    public func token(_ claims: JSON) throws(TokenProblem) -> String {
        let text = "\(Base64URL.encode(header)).\(Base64URL.encode(claims.serialized))"
        do throws(CryptographyError) {
            return text + "." + Base64URL.encode(try key.signature(of: Array(text.utf8)))
        } catch {
            throw .signature
        }
    }
}
