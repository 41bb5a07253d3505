import ParseProtocol

/// The path that the routes are under, `/parse` as a rule, and `/1`, where hosted Parse was.
struct Mount: Sendable {
    /// The path's components.
    let components: [Substring]
    /// The same as clients see it, which may be another path behind a proxy (`SATCHEL_PUBLIC_URL`).
    let publicComponents: [Substring]

    /// A path without the mount; nil for one that is not under it.
    func stripped(from path: [Substring]) -> [Substring]? {
        if path.first == "1" { return Array(path.dropFirst()) }
        guard path.starts(with: components) else { return nil }
        return Array(path.dropFirst(components.count))
    }

    /// A path that cloud code asks for as the router knows it, the mount included; code may leave the mount out.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    func path(ofCode text: String) throws(ParseError) -> [Substring] {
        let path = try ParseRequest.path(text)
        if stripped(from: path) != nil { return path }
        guard !publicComponents.isEmpty, path.starts(with: publicComponents) else { return components + path }
        return components + path.dropFirst(publicComponents.count)
    }

    /// A path of a batch's request as the router knows it, the mount included: clients write it as they see the server.
    /// - Throws: `.invalidJSON` (107) for a path that leads elsewhere.
    func path(inBatch text: String) throws(ParseError) -> [Substring] {
        let path = try ParseRequest.path(text)
        if stripped(from: path) != nil { return path }
        guard path.starts(with: publicComponents) else {
            throw ParseError(.invalidJSON, "cannot route batch path \(text.prefix(256))")
        }
        return components + path.dropFirst(publicComponents.count)
    }
}
