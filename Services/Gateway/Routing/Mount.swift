import ParseProtocol

/// The path of the routes: `/parse` by default, and `/1` as in hosted Parse.
struct Mount: Sendable {
    /// The path's components.
    let components: [Substring]
    /// The components as clients see them: a proxy may serve another path (`SATCHEL_PUBLIC_URL`).
    let publicComponents: [Substring]

    /// A path without the mount; nil for a path outside of it.
    func stripped(from path: [Substring]) -> [Substring]? {
        if path.first == "1" { return Array(path.dropFirst()) }
        guard path.starts(with: components) else { return nil }
        return Array(path.dropFirst(components.count))
    }

    /// The path of a request of cloud code, with the mount, which code may leave out.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    func path(ofCode text: String) throws(ParseError) -> [Substring] {
        let path = try ParseRequest.path(text)
        if stripped(from: path) != nil { return path }
        guard !publicComponents.isEmpty, path.starts(with: publicComponents) else { return components + path }
        return components + path.dropFirst(publicComponents.count)
    }

    /// The path of a batch's request, with the mount. Clients write the path that they see.
    /// - Throws: `.invalidJSON` (107) for a path outside of the mount.
    func path(inBatch text: String) throws(ParseError) -> [Substring] {
        let path = try ParseRequest.path(text)
        if stripped(from: path) != nil { return path }
        guard path.starts(with: publicComponents) else {
            throw ParseError(.invalidJSON, "cannot route batch path \(text.prefix(256))")
        }
        return components + path.dropFirst(publicComponents.count)
    }
}
