import Outbound
import ParseProtocol

/// The reason for which a bucket did not do what it was asked.
package enum BucketTrouble: Error, Hashable, CustomStringConvertible {
    /// Nobody answers, or the answer is to come back later.
    case away(String)
    /// The bucket answered no, by S3's name for the reason; to ask again brings the same.
    case refused(String)
    /// There is no such object.
    case missing
    /// What the bucket has is not what it was given.
    case different

    /// For logs and `/health`; holds neither keys nor names of files.
    package var description: String {
        switch self {
        case .away(let why): "The bucket of files does not answer (\(why))."
        case .refused(let code): "The bucket of files refuses (\(code))."
        case .missing: "The bucket of files does not have the object."
        case .different: "The bucket of files has another content than it was given."
        }
    }

    init(_ failure: OutboundFailure) { self = .away(failure.reason.rawValue) }

    /// The trouble that an answer tells of; nil for an answer that is good.
    package init?(status: Int, body: [UInt8]) {
        let code = Self.code(in: body)
        switch status {
        case 200...299: return nil
        // Without a code it is a proxy's or another server's word, which says nothing about the object.
        case 404 where code == "NoSuchKey": self = .missing
        case 408, 429, 500...599: self = .away(code ?? "\(status)")
        case 400 where ["RequestTimeout", "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch"].contains(code):
            self = .away(code ?? "400")
        default: self = .refused(code ?? "\(status)")
        }
    }

    /// The error of a request that had to do with the bucket.
    /// - Parameter isSaving: whether content was to be kept.
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

    /// `<Code>…</Code>` of an error's XML. What a stranger may have written there is cut to a word.
    private static func code(in body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(4096), as: UTF8.self)
        guard let found = text.firstMatch(of: #/<Code>([A-Za-z0-9.]{1,60})<\/Code>/#) else { return nil }
        return String(found.output.1)
    }
}
