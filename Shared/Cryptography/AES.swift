import COpenSSL

/// AES with a 256-bit key.
public enum AES {
    /// Galois/Counter Mode (NIST SP 800-38D): sealed data can be neither read nor modified without the key.
    public enum GCM {
        static let keyBytes = 32
        static let nonceBytes = 12
        static let tagBytes = 16

        /// Sealed data as stored: the nonce, the ciphertext and the tag.
        public struct SealedBox: Sendable {
            /// The nonce (12 bytes), the ciphertext and the tag (16 bytes), in this order.
            public let combined: [UInt8]

            /// - Throws: `notAuthentic` if there are too few bytes.
            public init(combined: [UInt8]) throws(CryptographyError) {
                guard combined.count >= nonceBytes + tagBytes else { throw .notAuthentic }
                self.combined = combined
            }

            var nonce: [UInt8] { Array(combined.prefix(nonceBytes)) }
            var text: [UInt8] { Array(combined.dropFirst(nonceBytes).dropLast(tagBytes)) }
            var tag: [UInt8] { Array(combined.suffix(tagBytes)) }
        }

        /// Encrypts with a new random nonce. A key must not seal more than 2^32 texts.
        /// - Parameter context: data that is not stored, and must be the same when the box is opened.
        public static func seal(
            _ plain: [UInt8], using key: SymmetricKey, authenticating context: some Sequence<UInt8>
        ) throws(CryptographyError) -> SealedBox {
            var generator = SystemRandomNumberGenerator()
            let nonce = (0..<nonceBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let cipher = try Cipher(key: key, nonce: nonce, encrypts: true)
            try cipher.authenticate(Array(context))
            let text = try cipher.process(plain)
            return try SealedBox(combined: nonce + text + cipher.tag())
        }

        /// - Throws: `notAuthentic` for data that was not sealed with this key and context.
        public static func open(
            _ box: SealedBox, using key: SymmetricKey, authenticating context: some Sequence<UInt8>
        ) throws(CryptographyError) -> [UInt8] {
            let cipher = try Cipher(key: key, nonce: box.nonce, encrypts: false)
            try cipher.authenticate(Array(context))
            let plain = try cipher.process(box.text)
            try cipher.check(box.tag)
            return plain
        }
    }
}

/// One AES-GCM operation with its own libcrypto context.
private final class Cipher {
    private let context: OpaquePointer

    /// - Throws: `badKey` unless the key has 32 bytes.
    init(key: SymmetricKey, nonce: [UInt8], encrypts: Bool) throws(CryptographyError) {
        guard key.byteCount == AES.GCM.keyBytes, nonce.count == AES.GCM.nonceBytes else { throw .badKey }
        guard let context = EVP_CIPHER_CTX_new() else { throw .failed(.unavailable) }
        self.context = context
        let isReady = key.withUnsafeBytes { key in
            // The mode's default nonce length is 12 bytes.
            EVP_CipherInit_ex(
                context, EVP_aes_256_gcm(), nil, key.assumingMemoryBound(to: UInt8.self).baseAddress, nonce,
                encrypts ? 1 : 0)
        }
        guard isReady == 1 else { throw .failed(.unavailable) }
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    func authenticate(_ bytes: [UInt8]) throws(CryptographyError) {
        guard let count = Int32(exactly: bytes.count) else { throw .badParameter }
        var done: Int32 = 0
        guard count == 0 || EVP_CipherUpdate(context, nil, &done, bytes, count) == 1 else {
            throw .failed(.unavailable)
        }
    }

    /// Encrypts or decrypts everything.
    func process(_ bytes: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let count = Int32(exactly: bytes.count) else { throw .badParameter }
        var (output, done) = ([UInt8](repeating: 0, count: bytes.count), Int32(0))
        guard count == 0 || EVP_CipherUpdate(context, &output, &done, bytes, count) == 1 && done == count else {
            throw .failed(.unavailable)
        }
        return output
    }

    /// Finishes an encryption.
    func tag() throws(CryptographyError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: AES.GCM.tagBytes)
        var (rest, done) = ([UInt8](repeating: 0, count: 16), Int32(0))
        guard EVP_CipherFinal_ex(context, &rest, &done) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { throw .failed(.unavailable) }
        return tag
    }

    /// Finishes a decryption.
    /// - Throws: `notAuthentic`.
    func check(_ tag: [UInt8]) throws(CryptographyError) {
        var (tag, rest, done) = (tag, [UInt8](repeating: 0, count: 16), Int32(0))
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
            EVP_CipherFinal_ex(context, &rest, &done) == 1
        else { throw .failed(.notAuthentic) }
    }
}
