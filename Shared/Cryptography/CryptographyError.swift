import COpenSSL

/// The failure of a cryptographic operation. It never says anything of a secret.
public enum CryptographyError: Error, Sendable, Equatable {
    /// libcrypto has no memory, or does not know what is asked of it.
    case unavailable
    /// A key that is none, or of a kind that is not used here.
    case badKey
    /// A number or length outside its bounds.
    case badParameter
    /// Sealed data that is not whole, or that was sealed with another key or for another purpose.
    case notAuthentic

    /// An error after a call of libcrypto failed. Forgets the thread's list of reasons, which nobody reads.
    static func failed(_ error: CryptographyError) -> CryptographyError {
        ERR_clear_error()
        return error
    }
}
