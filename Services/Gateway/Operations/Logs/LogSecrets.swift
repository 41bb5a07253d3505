import ParseProtocol

/// Texts that are redacted, should one ever get into the log.
package struct LogSecrets: Sendable {
    /// As they are within a line's JSON, where some characters are escaped; a secret before the ones it begins with.
    private let texts: [String]

    /// Shorter ones are also parts of other words.
    private static let bytesMin = 8

    package init(_ secrets: [String]) {
        texts = secrets.filter { $0.utf8.count >= Self.bytesMin }.sorted { $0.utf8.count > $1.utf8.count }
            .map { String(JSON.string($0).serializedText.dropFirst().dropLast()) }
    }

    package func redacted(_ line: JSON) -> JSON {
        var text = line.serializedText
        for secret in texts { text.replace(secret, with: "…") }
        text.replace(#/r:[0-9a-f]{32}/#) { _ in "r:…" }
        return (try? JSON(parsing: text)) ?? .null
    }
}
