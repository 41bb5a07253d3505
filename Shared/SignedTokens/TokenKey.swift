import Cryptography
import ParseProtocol

/// A published key that verifies tokens (a JWK, RFC 7517). The key determines the algorithm; the token's header must
/// agree.
public struct TokenKey: Sendable {
    let algorithm: TokenAlgorithm
    private let key: PublicKey

    /// - Throws: `key` for an unsupported kind of key, another use, or invalid numbers.
    public init(jwk: JSON) throws(TokenProblem) {
        let algorithm: TokenAlgorithm
        switch jwk["kty"]?.stringValue {
        case "RSA": algorithm = .rs256
        case "EC" where jwk["crv"]?.stringValue == "P-256": algorithm = .es256
        default: throw .key
        }
        guard (jwk["alg"]?.stringValue ?? algorithm.rawValue) == algorithm.rawValue,
            (jwk["use"]?.stringValue ?? "sig") == "sig"
        else { throw .key }
        self.algorithm = algorithm
        do throws(CryptographyError) {
            switch algorithm {
            case .rs256:
                key = try PublicKey(modulus: Self.number("n", jwk), exponent: Self.number("e", jwk))
            case .es256: key = try PublicKey(x: Self.number("x", jwk), y: Self.number("y", jwk))
            }
        } catch {
            throw .key
        }
    }

    func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool { key.isValid(signature, of: message) }

    private static func number(_ name: String, _ jwk: JSON) throws(CryptographyError) -> [UInt8] {
        guard let bytes = jwk[name]?.stringValue.flatMap({ Base64URL.decode($0.utf8) }) else { throw .badKey }
        return bytes
    }
}
