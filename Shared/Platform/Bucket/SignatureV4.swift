import Cryptography
import Foundation
import ParseProtocol

/// Signs requests to S3 and compatible servers with AWS Signature Version 4
/// (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html).
package struct SignatureV4: Sendable {
    /// The signed parts of a request.
    package struct Request: Sendable {
        /// In capital letters, such as `GET`.
        let method: String
        /// With the port when it is not the scheme's default.
        let host: String
        /// As sent: encoded by `SignatureV4.encoded`.
        let path: String
        /// Names and values, not encoded.
        let query: [(name: String, value: String)]
        /// All headers except `Host`, in any order. Every one is signed.
        let headers: [(name: String, value: String)]

        package init(
            _ method: String, host: String, path: String, query: [(name: String, value: String)] = [],
            headers: [(name: String, value: String)] = []
        ) {
            self.method = method
            self.host = host
            self.path = path
            self.query = query
            self.headers = headers
        }
    }

    /// The hash of an empty body.
    package static let emptyHash = SHA256.hash(data: []).hex
    private static let algorithm = "AWS4-HMAC-SHA256"
    private static let service = "s3"
    private static let unsigned = "UNSIGNED-PAYLOAD"

    private let accessKey: String
    private let secret: SymmetricKey
    private let region: String

    /// - Parameter secret: kept in memory that is wiped; no text made by this type contains it.
    package init(accessKey: String, secret: String, region: String) {
        self.accessKey = accessKey
        self.secret = SymmetricKey(data: Array("AWS4\(secret)".utf8))
        self.region = region
    }

    /// The headers of a request, including the signature headers.
    /// - Parameter bodyHash: SHA-256 of the body in hexadecimal.
    package func headers(for request: Request, bodyHash: String, at now: Timestamp) -> [(name: String, value: String)] {
        let time = Self.time(now)
        let added = [("x-amz-content-sha256", bodyHash), ("x-amz-date", time)]
        let headers = request.headers + added.map { (name: $0.0, value: $0.1) }
        let signed = Self.canonical(headers + [(name: "host", value: request.host)])
        let signature = signature(
            request, query: Self.canonical(query: request.query), signed, bodyHash: bodyHash, time: time)
        let value = """
            \(Self.algorithm) Credential=\(accessKey)/\(scope(time)),SignedHeaders=\(signed.names),\
            Signature=\(signature)
            """
        return headers + [(name: "Authorization", value: value)]
    }

    /// The query string, without a question mark, with which any client may send the request until it expires.
    /// - Parameter seconds: lifetime from `now`, 1 to 604800.
    package func presignedQuery(for request: Request, seconds: Int, at now: Timestamp) -> String {
        let time = Self.time(now)
        let signed = Self.canonical(request.headers + [(name: "host", value: request.host)])
        let query = Self.canonical(
            query: request.query + [
                (name: "X-Amz-Algorithm", value: Self.algorithm),
                (name: "X-Amz-Credential", value: "\(accessKey)/\(scope(time))"), (name: "X-Amz-Date", value: time),
                (name: "X-Amz-Expires", value: "\(seconds)"), (name: "X-Amz-SignedHeaders", value: signed.names),
            ])
        let signature = signature(request, query: query, signed, bodyHash: Self.unsigned, time: time)
        return "\(query)&X-Amz-Signature=\(signature)"
    }

    /// Percent-encodes a text for paths and queries: every byte except letters, digits and `-._~`.
    /// - Parameter keepsSlashes: true for paths, whose slashes are not encoded.
    package static func encoded(_ text: String, keepsSlashes: Bool = false) -> String {
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            let isPlain = isUnreserved(byte) || (keepsSlashes && byte == UInt8(ascii: "/"))
            return isPlain ? [byte] : [UInt8(ascii: "%")] + Array([byte].hex.uppercased().utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: - What is signed

    private func signature(
        _ request: Request, query: String, _ signed: (lines: String, names: String), bodyHash: String, time: String
    ) -> String {
        let canonical = [request.method, request.path, query, signed.lines, signed.names, bodyHash]
            .joined(separator: "\n")
        let text = [Self.algorithm, time, scope(time), SHA256.hash(data: Array(canonical.utf8)).hex]
        return Self.code(of: text.joined(separator: "\n"), by: key(of: time)).hex
    }

    /// The signing key of one day.
    private func key(of time: String) -> SymmetricKey {
        [String(time.prefix(8)), region, Self.service, "aws4_request"].reduce(secret) { key, part in
            SymmetricKey(data: Self.code(of: part, by: key))
        }
    }

    private func scope(_ time: String) -> String { "\(time.prefix(8))/\(region)/\(Self.service)/aws4_request" }

    private static func code(of text: String, by key: SymmetricKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
    }

    /// One line per header, and the list of names, both sorted by name.
    private static func canonical(_ headers: [(name: String, value: String)]) -> (lines: String, names: String) {
        let sorted = headers.map { ($0.name.lowercased(), trimmed($0.value)) }.sorted { $0.0 < $1.0 }
        return (
            sorted.map { "\($0.0):\($0.1)\n" }.joined(), sorted.map(\.0).joined(separator: ";")
        )
    }

    /// Removes spaces at both ends and collapses runs of spaces to one.
    private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }

    /// Sorted by encoded name, then by encoded value.
    package static func canonical(query: [(name: String, value: String)]) -> String {
        query.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    /// `20130524T000000Z`.
    private static func time(_ moment: Timestamp) -> String {
        moment.iso.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
