import COpenSSL

/// The failure of a cryptographic operation. It never contains secret data.
public enum CryptographyError: Error, Sendable, Equatable {
    /// libcrypto has no memory, or does not support the operation.
    case unavailable
    /// An invalid key, or a key of an unsupported kind.
    case badKey
    /// A number or length out of bounds.
    case badParameter
    /// Sealed data that is incomplete, or was sealed with another key or for another purpose.
    case notAuthentic

    /// The error after a failed libcrypto call. Clears the thread's error queue, which nothing reads.
    static func failed(_ error: CryptographyError) -> CryptographyError {
        ERR_clear_error()
        return error
    }
}
