import Outbound
import ParseProtocol

/// Why a bucket did not carry out a request.
package enum BucketTrouble: Error, Hashable, CustomStringConvertible {
    /// The server does not answer, or asks to try again later.
    case away(String)
    /// The bucket refused, with S3's error code; a retry gets the same answer.
    case refused(String)
    /// There is no such object.
    case missing
    /// The bucket returned other content than the service uploaded.
    case different

    /// For logs and `/health`; contains neither keys nor file names.
    package var description: String {
        switch self {
        case .away(let why): "The bucket of files does not answer (\(why))."
        case .refused(let code): "The bucket of files refuses (\(code))."
        case .missing: "The bucket of files does not have the object."
        case .different: "The bucket of files has another content than it was given."
        }
    }

    init(_ failure: OutboundFailure) { self = .away(failure.reason.rawValue) }

    /// The problem that a response indicates; nil for a success.
    package init?(status: Int, body: [UInt8]) {
        let code = Self.code(in: body)
        switch status {
        case 200...299: return nil
        // Without an error code the response is from a proxy or another server and does not prove that the object is
        // missing.
        case 404 where code == "NoSuchKey": self = .missing
        case 408, 429, 500...599: self = .away(code ?? "\(status)")
        case 400 where ["RequestTimeout", "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch"].contains(code):
            self = .away(code ?? "400")
        default: self = .refused(code ?? "\(status)")
        }
    }

    /// The error for the client of a request that needed the bucket.
    /// - Parameter isSaving: whether content was being stored.
    func parseError(isSaving: Bool) -> ParseError {
        switch self {
        case .away:
            var error = ParseError(.serviceUnavailable, "Files cannot be reached at the moment. Try again later.")
            error.retryAfterSeconds = Self.retryAfterSeconds
            return error
        case .missing where !isSaving: return .objectNotFound
        case .refused, .missing, .different:
            return isSaving
                ? ParseError(.fileSaveError, "The file could not be saved.")
                : ParseError(.serviceUnavailable, "Files cannot be reached at the moment. Try again later.")
        }
    }

    private static let retryAfterSeconds = 5

    /// `<Code>…</Code>` of the error XML. The text is untrusted and is reduced to one word.
    private static func code(in body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(4096), as: UTF8.self)
        guard let found = text.firstMatch(of: #/<Code>([A-Za-z0-9.]{1,60})<\/Code>/#) else { return nil }
        return String(found.output.1)
    }
}
