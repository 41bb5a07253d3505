import COpenSSL

/// A libcrypto key. It is immutable, so any number of threads can use it at once
/// (https://docs.openssl.org/3.0/man7/openssl-threads/); each use has its own context.
final class KeyHandle: Sendable {
    private nonisolated(unsafe) let key: OpaquePointer

    private static let curve = "prime256v1"
    private static let rsaBits: ClosedRange<Int32> = 2048...8192

    /// - Parameter info: a SubjectPublicKeyInfo (RFC 5280, 4.1) in DER.
    /// - Throws: `badKey`, also for a point that is not on its curve.
    init(info: [UInt8]) throws(CryptographyError) {
        let key = info.withUnsafeBufferPointer { info in
            var position = info.baseAddress
            return d2i_PUBKEY(nil, &position, info.count)
        }
        guard let key else { throw .failed(.badKey) }
        self.key = key
    }

    /// - Throws: `badKey`, also for an encrypted key.
    init(privatePEM text: String) throws(CryptographyError) {
        let bytes = Array(text.utf8)
        guard let count = Int32(exactly: bytes.count), count > 0 else { throw .badKey }
        let key = bytes.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let reader = BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
            defer { BIO_free(reader) }
            // Without a callback libcrypto would prompt on the terminal for the password of an encrypted key.
            return PEM_read_bio_PrivateKey(reader, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let key else { throw .failed(.badKey) }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Nil for a key of an unsupported kind.
    var algorithm: SignatureAlgorithm? {
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: return Self.rsaBits.contains(EVP_PKEY_get_bits(key)) ? .rsa : nil
        case EVP_PKEY_EC:
            var (name, count) = ([CChar](repeating: 0, count: 64), 0)
            guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else {
                ERR_clear_error()
                return nil
            }
            return name.prefix(count).map { UInt8(bitPattern: $0) } == Array(Self.curve.utf8) ? .p256 : nil
        default: return nil
        }
    }

    /// Whether the signature is valid; ECDSA signatures are in DER.
    func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    /// Signs the message; ECDSA signatures are in DER.
    func signature(of message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .failed(.unavailable) }
        defer { EVP_MD_CTX_free(context) }
        var count = Int(EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: max(0, count))
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { throw .failed(.unavailable) }
        return Array(signature.prefix(count))
    }

    /// The numbers r and s of a DER-encoded ECDSA signature, 32 bytes each.
    static func numbers(ofSignature bytes: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let size = PublicKey.coordinateBytes
        var numbers = [UInt8](repeating: 0, count: 2 * size)
        let isDone = bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard let pair = d2i_ECDSA_SIG(nil, &position, bytes.count) else { return false }
            defer { ECDSA_SIG_free(pair) }
            return numbers.withUnsafeMutableBufferPointer { numbers in
                guard let r = numbers.baseAddress else { return false }
                return BN_bn2binpad(ECDSA_SIG_get0_r(pair), r, Int32(size)) == Int32(size)
                    && BN_bn2binpad(ECDSA_SIG_get0_s(pair), r + size, Int32(size)) == Int32(size)
            }
        }
        guard isDone else { throw .failed(.unavailable) }
        return numbers
    }
}
