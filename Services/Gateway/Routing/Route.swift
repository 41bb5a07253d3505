import Messages

/// One route of the gateway: a row of `RouteTable`, from which both the router and the OpenAPI document are made.
///
/// A class, so that finding one among those that begin alike copies nothing.
final class Route: Sendable {
    /// The code that answers a call. It runs after the caller's keys, session and rights to the route were checked.
    ///
    /// It throws `ParseError`; the type does not say so, because closures that are written as `{ try await $0… }`
    /// cannot have it.
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
    /// Whether a session token is left alone, so that an app whose session has ended can get a new one.
    let ignoresSession: Bool
    /// Nil for what the protocol has and Satchel does not: such a route says so.
    let handler: Handler?
    /// The places of the parts in braces.
    private let places: [(name: String, place: Int)]

    convenience init(
        _ method: ParseRequest.Method, _ path: String, _ tag: Tag, _ id: String, _ summary: String,
        access: Access = .client, ignoresSession: Bool = false, handler: @escaping Handler
    ) {
        self.init(method, path, tag, id, summary, access, ignoresSession, handler)
    }

    /// A route of the protocol that is not there yet.
    static func notBuilt(
        _ method: ParseRequest.Method, _ path: String, _ tag: Tag, _ id: String, _ summary: String,
        access: Access = .client
    ) -> Route {
        Route(method, path, tag, id, summary, access, false, nil)
    }

    private init(
        _ method: ParseRequest.Method, _ path: String, _ tag: Tag, _ id: String, _ summary: String, _ access: Access,
        _ ignoresSession: Bool, _ handler: Handler?
    ) {
        self.method = method
        self.path = path
        self.tag = tag
        self.id = id
        self.summary = summary
        self.access = access
        self.ignoresSession = ignoresSession
        self.handler = handler
        places = path.split(separator: "/").enumerated().compactMap { place, part in
            part.first == "{" ? (String(part.dropFirst().dropLast()), place) : nil
        }
    }

    /// The place of the part in braces among the path's components; nil when there is none of that name.
    func place(of name: String) -> Int? { places.first { $0.name == name }?.place }

    /// The groups of clients that may call a route. What a caller may then do is decided by the services.
    enum Access: Sendable, Equatable {
        /// Anybody, without keys. Such a route cannot be called in a batch.
        case anyone
        /// An app with the application id and, where keys are configured, one of them.
        case client
        /// The master key.
        case master
        /// The master key, and a session of somebody who runs the area.
        case desk(OperatorArea)

        /// Whether the services are asked at all. For anybody's routes and those of clients they decide alone.
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

/// A request on its way to a route's handler.
struct RouteCall: Sendable {
    let router: ParseRouter
    let route: Route
    let request: ParseRequest
    let principal: Principal

    /// The controllers, which handlers call.
    var controllers: Controllers { router.controllers }

    /// The part of the request's path where the route's has `{name}`; empty when the route has no such part.
    subscript(_ name: String) -> String {
        guard let place = route.place(of: name), place < request.path.count else { return "" }
        return String(request.path[place])
    }
}
