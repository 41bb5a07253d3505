import COpenSSL

/// Key derivation from passwords.
public enum KDF {
    /// scrypt (RFC 7914).
    public enum Scrypt {
        /// Needs 128·blockSize·rounds bytes of memory, and time proportional to that and to `parallelism`.
        /// - Parameters:
        ///   - password: not empty.
        ///   - rounds: a power of two, above 1.
        /// - Throws: `badParameter` for numbers that scrypt does not accept, `unavailable` without memory.
        public static func deriveKey(
            from password: [UInt8], salt: [UInt8], outputByteCount: Int, rounds: Int, blockSize: Int, parallelism: Int
        ) throws(CryptographyError) -> SymmetricKey {
            guard (1...1 << 24).contains(rounds), rounds > 1, rounds.nonzeroBitCount == 1,
                (1...256).contains(blockSize), (1...1024).contains(parallelism), (1...1024).contains(outputByteCount),
                !password.isEmpty, !salt.isEmpty
            else { throw .badParameter }
            // The working memory, and a page for libcrypto's own data.
            let memoryMax = 128 * blockSize * (rounds + parallelism + 2) + 4096
            var bytes = [UInt8](repeating: 0, count: outputByteCount)
            let isDone = password.withUnsafeBytes { password in
                EVP_PBE_scrypt(
                    password.assumingMemoryBound(to: CChar.self).baseAddress, password.count, salt, salt.count,
                    UInt64(rounds), UInt64(blockSize), UInt64(parallelism), UInt64(memoryMax), &bytes, bytes.count)
            }
            guard isDone == 1 else { throw .failed(.unavailable) }
            let key = SymmetricKey(data: bytes)
            bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
            return key
        }
    }
}
