import Foundation
import ProcessKit

/// The addresses of a bucket's objects, with the bucket's name in the path or in the host.
package struct BucketAddress: Sendable, Equatable {
    /// The value of `Host`, which is also signed; with the port when it is not the scheme's default.
    package let host: String
    /// Whether the connection is encrypted (https).
    package let isEncrypted: Bool
    /// Begins the key of each object.
    let prefix: String
    /// The encoded path of the bucket.
    let bucketPath: String
    private let origin: String
    /// The path prefix of every object key, ending in a slash.
    private let folder: String

    /// - Parameters:
    ///   - url: the server's URL; nil for Amazon S3. `{bucket}` in its host is replaced by the bucket's name; otherwise
    ///     the path begins with the name.
    ///   - prefix: begins the key of each object; empty, or without a leading slash.
    /// - Throws: `StartupProblem`.
    package init(url: String?, bucket: String, region: String, prefix: String) throws(StartupProblem) {
        guard Self.isBucketName(bucket) else {
            throw StartupProblem(
                "SATCHEL_FILES_BUCKET=\(bucket) is not a bucket name: 3 to 63 letters, digits, dots, - and _.")
        }
        guard Self.isPrefix(prefix) else {
            throw StartupProblem(
                """
                SATCHEL_FILES_BUCKET_PREFIX=\(prefix) must be at most 200 letters, digits, dots, -, _ and slashes, \
                none of them at the beginning, and without empty parts.
                """)
        }
        // A certificate for *.s3.amazonaws.com does not match a bucket name with dots.
        let standard = "https://\(bucket.contains(".") ? "" : "{bucket}.")s3.\(region).amazonaws.com"
        let given = url ?? standard
        let isInHost = given.contains("://{bucket}.")
        let text = given.replacing("://{bucket}.", with: "://\(bucket).")
        guard let parts = URLComponents(string: text), let name = parts.host, !name.isEmpty, parts.query == nil,
            parts.fragment == nil, parts.user == nil, parts.path.isEmpty || parts.path == "/",
            let scheme = parts.scheme?.lowercased(), scheme == "https" || scheme == "http"
        else {
            throw StartupProblem(
                """
                SATCHEL_FILES_BUCKET_URL is not an http or https URL of a host, such as https://s3.example.com or \
                https://{bucket}.s3.example.com.
                """)
        }
        let isStandardPort = parts.port == nil || parts.port == (scheme == "https" ? 443 : 80)
        host = isStandardPort ? name : "\(name):\(parts.port ?? 0)"
        isEncrypted = scheme == "https" || ["127.0.0.1", "localhost", "::1", "[::1]"].contains(name)
        origin = "\(scheme)://\(host)"
        folder = (isInHost ? "/" : "/\(bucket)/") + prefix
        bucketPath = SignatureV4.encoded(isInHost ? "/" : "/\(bucket)", keepsSlashes: true)
        self.prefix = prefix
    }

    /// The encoded path of an object.
    /// - Parameter name: the object's name, without the prefix.
    package func path(of name: String) -> String { SignatureV4.encoded(folder + name, keepsSlashes: true) }

    /// The URL of such a path.
    package func url(_ path: String) -> String { origin + path }

    private static func isBucketName(_ name: String) -> Bool {
        (3...63).contains(name.utf8.count) && name.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") }
            && !name.hasPrefix(".") && !name.contains("..")
    }

    private static func isPrefix(_ prefix: String) -> Bool {
        let allowed = prefix.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }
        // libcurl and servers normalize `a/../b`, so the signed path and the requested path would differ.
        let parts = prefix.split(separator: "/", omittingEmptySubsequences: false)
        return prefix.utf8.count <= 200 && allowed && parts.dropLast().allSatisfy { !$0.isEmpty }
            && parts.allSatisfy { $0 != "." && $0 != ".." }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
