/// The types in an `Accept` header (RFC 9110, section 12.5.1).
package enum AcceptedTypes {
    /// Whether the client names exactly this type, with a weight above 0. `*/*` does not count: every client sends it.
    package static func include(_ type: String, in header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { entry in
            let parts = entry.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard parts.first == type else { return false }
            return !parts.dropFirst().contains { $0.hasPrefix("q=") && (Double($0.dropFirst(2)) ?? 0) <= 0 }
        }
    }
}
