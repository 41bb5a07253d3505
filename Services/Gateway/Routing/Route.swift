import Messages

/// One route of the gateway: a row of `RouteTable`, from which the router and the OpenAPI document are made.
///
/// A class, so that a look-up copies nothing.
final class Route: Sendable {
    /// The code that answers a call, after the checks of keys, session and rights to the route.
    ///
    /// It throws `ParseError`. The type does not say so, because a closure such as `{ try await $0… }` cannot have a
    /// typed throw.
    typealias Handler = @Sendable (RouteCall) async throws -> ParseResponse

    let method: ParseRequest.Method
    /// The path under the mount, as in OpenAPI: `/classes/{className}/{objectId}`.
    let path: String
    let tag: Tag
    /// The operation's name in the OpenAPI document; no two routes have the same.
    let id: String
    /// One sentence.
    let summary: String
    let access: Access
    /// Whether the route ignores the session token, so that an app whose session has ended can get a new one.
    let ignoresSession: Bool
    let handler: Handler
    /// The components in braces.
    private let parameters: [(name: String, index: Int)]

    init(
        _ method: ParseRequest.Method, _ path: String, _ tag: Tag, _ id: String, _ summary: String,
        access: Access = .client, ignoresSession: Bool = false, handler: @escaping Handler
    ) {
        self.method = method
        self.path = path
        self.tag = tag
        self.id = id
        self.summary = summary
        self.access = access
        self.ignoresSession = ignoresSession
        self.handler = handler
        parameters = path.split(separator: "/").enumerated().compactMap { index, part in
            part.first == "{" ? (String(part.dropFirst().dropLast()), index) : nil
        }
    }

    /// The index of the component in braces; nil when no component has that name.
    func index(of name: String) -> Int? { parameters.first { $0.name == name }?.index }

    /// The groups of clients that may call a route. The services check the rights to objects.
    enum Access: Sendable, Equatable {
        /// All clients, without keys. Such a route cannot be called in a batch.
        case anyone
        /// An app with the application id and, where keys are configured, one of them.
        case client
        /// The master key.
        case master
        /// The master key, and the session of an operator of the area.
        case desk(OperatorArea)

        /// Whether the route admits the principal. For `anyone` and `client` the services decide alone.
        func admits(_ principal: Principal) -> Bool {
            switch self {
            case .anyone, .client: true
            case .master: principal.master
            case .desk(let area): principal.runs([area])
            }
        }
    }

    /// The chapters of the OpenAPI document.
    enum Tag: String, CaseIterable, Sendable {
        case objects = "Objects"
        case users = "Users"
        case sessions = "Sessions"
        case roles = "Roles"
        case installations = "Installations"
        case files = "Files"
        case cloud = "Cloud code"
        case config = "Config"
        case reports = "Reports"
        case push = "Push"
        case schemas = "Schemas"
        case system = "System"
        case pages = "Pages for people"
    }
}

/// The arguments of a route's handler.
struct RouteCall: Sendable {
    let router: ParseRouter
    let route: Route
    let request: ParseRequest
    let principal: Principal

    /// The controllers, which handlers call.
    var controllers: Controllers { router.controllers }

    /// The component of the request's path at the route's `{name}`; empty when the route has none of that name.
    subscript(_ name: String) -> String {
        guard let index = route.index(of: name), index < request.path.count else { return "" }
        return String(request.path[index])
    }
}
