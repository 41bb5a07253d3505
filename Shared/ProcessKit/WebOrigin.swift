import Foundation

/// The origin of a URL: scheme, host and port.
package enum WebOrigin {
    /// - Returns: nil when the URL is not of a web server, or a content policy cannot name its host.
    package static func of(_ url: String) -> String? {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, scheme == "http" || scheme == "https",
            let host = parts.percentEncodedHost, !host.isEmpty,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) })
        else { return nil }
        return "\(scheme)://\(host)" + (parts.port.map { ":\($0)" } ?? "")
    }
}
