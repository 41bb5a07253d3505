/// The types in an `Accept` header (RFC 9110, section 12.5.1).
package enum AcceptedTypes {
    /// Whether the client names exactly this type, with a weight above 0. `*/*` does not count: every client sends it.
    package static func include(_ type: String, in header: String?) -> Bool {
        header.flatMap { weight(of: type, in: $0) }.map { $0 > 0 } ?? false
    }

    /// Whether the client takes HTML, as text or as anything. Programs that only want JSON do not.
    package static func allowHTML(in header: String?) -> Bool {
        guard let header, header.contains(where: { $0 != " " && $0 != "\t" }) else { return true }
        // The most specific entry counts.
        let weights = ["text/html", "text/*", "*/*"].lazy.compactMap { weight(of: $0, in: header) }
        return weights.first.map { $0 > 0 } ?? false
    }

    /// The weight of an entry, from 0 to 1; nil when the header does not have it.
    private static func weight(of range: String, in header: String) -> Double? {
        header.split(separator: ",").compactMap { entry -> Double? in
            let parts = entry.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard parts.first == range else { return nil }
            guard let weight = parts.dropFirst().first(where: { $0.hasPrefix("q=") }) else { return 1 }
            return Double(weight.dropFirst(2)) ?? 0
        }.max()
    }
}
