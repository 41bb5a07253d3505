/// Finds the route of a request by the first component of its path, then among the few routes that share it.
struct RouteTable: Sendable {
    private struct Entry: Sendable {
        let route: Route
        /// Nil stands for a component in braces, which matches every text.
        let components: [String?]

        func matches(_ path: [Substring]) -> Bool {
            guard path.count == components.count else { return false }
            // The dictionary has compared the first component.
            for index in components.indices.dropFirst() {
                if let text = components[index], text != path[index] { return false }
            }
            return true
        }
    }

    let routes: [Route]
    private let entries: [Substring: [Entry]]

    /// - Parameter routes: the first match is taken, so the list must name literal paths first.
    init(_ routes: [Route]) {
        var entries: [Substring: [Entry]] = [:]
        for route in routes {
            let parts = route.path.split(separator: "/")
            guard let first = parts.first, !first.hasPrefix("{") else {
                preconditionFailure("A route begins with a fixed part, not with \(route.path).")
            }
            entries[first, default: []].append(
                Entry(route: route, components: parts.map { $0.hasPrefix("{") ? nil : String($0) }))
        }
        self.routes = routes
        self.entries = entries
    }

    /// The route for a path without its mount.
    func route(_ method: ParseRequest.Method, _ path: [Substring]) -> Route? {
        guard let first = path.first, let candidates = entries[first] else { return nil }
        // By index: a loop over the entries would copy each of them.
        let index = candidates.indices.first {
            candidates[$0].route.method == method && candidates[$0].matches(path)
        }
        return index.map { candidates[$0].route }
    }

    /// Whether a request needs no keys. Below `apps` are the links in mails: people open them without keys, and a wrong
    /// link leads to a page.
    /// - Parameters:
    ///   - path: under the mount.
    ///   - route: of this path; nil where there is none.
    static func needsNoKeys(_ path: [Substring], _ route: Route?) -> Bool {
        route?.access == .anyone || path.first == "apps"
    }

    /// The methods that the routes of a path have.
    func methods(of path: [Substring]) -> [ParseRequest.Method] {
        guard let first = path.first, let candidates = entries[first] else { return [] }
        let found = candidates.filter { $0.matches(path) }.map(\.route.method)
        let all: [ParseRequest.Method] = [.get, .post, .put, .delete]
        return all.filter { found.contains($0) }
    }

    /// The route whose path goes on with a name: `/functions/{functionName}` for `/functions`.
    /// - Parameter method: nil for any.
    func continued(_ path: [Substring], _ method: ParseRequest.Method? = nil) -> Route? {
        guard let first = path.first, let candidates = entries[first] else { return nil }
        for entry in candidates where entry.matches(path + [""]) && entry.route.path.hasSuffix("}") {
            if method == nil || entry.route.method == method { return entry.route }
        }
        return nil
    }

    var firstComponents: [Substring] { Array(entries.keys) }

    /// The routes under the mount.
    static let mounted = RouteTable(
        // `Route.config` comes first: its `/classes/_GlobalConfig` precedes `/classes/{className}`.
        Route.config + Route.objects + Route.accounts + Route.files + Route.cloud + Route.hooks + Route.push
            + Route.schemas + Route.moves + Route.system + Route.operations + Route.pages)

    /// The routes outside the mount, apart from pages.
    static let outside = RouteTable(Route.crashReports + [Route.metrics])
}
