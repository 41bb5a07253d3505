import Messages
import ParseProtocol

/// Objects of every class, and the short paths of the protocol's own classes.
extension Route {
    static let objects =
        [
            Route(.post, "/batch", .objects, "batch", "Runs up to 200 requests in order, or as one transaction.") {
                try await BatchController(router: $0.router).run($0.request, $0.principal)
            },
            Route(.get, "/users/me", .users, "getCurrentUser", "The user of the session.") {
                try await $0.controllers.accounts.me($0.request, $0.principal)
            },
            Route(.get, "/sessions/me", .sessions, "getCurrentSession", "The session the request came with.") {
                try await $0.controllers.accounts.currentSession($0.request, $0.principal)
            },
            Route(
                .get, "/live/{className}", .objects, "streamObjects", "Tells of changes of objects as they happen."
            ) { call in
                try await call.controllers.live.stream(try call.className(nil), call.request, call.principal)
            },
        ]
        + objectRoutes("/classes/{className}", of: nil, .objects, "Object", "objects of a class")
        + objectRoutes("/users", of: "_User", .users, "User", "users")
        + objectRoutes("/roles", of: "_Role", .roles, "Role", "roles")
        + objectRoutes("/sessions", of: "_Session", .sessions, "Session", "the caller's sessions")
        + objectRoutes("/installations", of: "_Installation", .installations, "Installation", "installations")

    /// The five routes of a class; of the class in the path when `className` is nil.
    private static func objectRoutes(
        _ path: String, of className: String?, _ tag: Tag, _ noun: String, _ nouns: String
    ) -> [Route] {
        let one = "\(path)/{objectId}"
        let (find, create, get) = ("find\(noun)s", "create\(noun)", "get\(noun)")
        let name = noun.lowercased()
        return [
            Route(.get, path, tag, find, "Finds or counts \(nouns).") { call in
                let className = try call.className(className)
                try OwnClasses.keepDevicesPrivate(className, "find", call.principal)
                return try await call.controllers.objects.find(className, call.request, call.principal)
            },
            Route(.post, path, tag, create, "Creates one of \(nouns).") { call in
                let className = try call.className(className)
                // Creating a user is a sign-up, by either path.
                return className == "_User"
                    ? try await call.controllers.accounts.signUp(call.request, call.principal)
                    : try await call.controllers.objects.create(className, call.request, call.principal)
            },
            Route(.get, one, tag, get, "One \(name) by its id.") { call in
                let className = try call.className(className)
                return try await call.controllers.objects.get(className, call["objectId"], call.request, call.principal)
            },
            Route(.put, one, tag, "update\(noun)", "Changes fields of one \(name).") { call in
                let className = try call.className(className)
                return try await call.controllers.objects.update(
                    className, call["objectId"], call.request, call.principal)
            },
            Route(.delete, one, tag, "delete\(noun)", "Deletes one \(name).") { call in
                let className = try call.className(className)
                try OwnClasses.keepDevicesPrivate(className, "delete", call.principal)
                return try await call.controllers.objects.delete(
                    className, call["objectId"], call.request, call.principal)
            },
        ]
    }
}

extension RouteCall {
    /// The class of a call: the route's own, or the one in the path.
    /// - Throws: `.invalidClassName` (103), `.operationForbidden` (119) or, for sessions without a user,
    ///   `.invalidSessionToken` (209).
    fileprivate func className(_ ofRoute: String?) throws(ParseError) -> String {
        let className = ofRoute ?? self["className"]
        guard Names.isClassName(className) || ServiceDirectory.shows(className, to: principal) else {
            throw className.hasPrefix("_") ? .internalClass(className, operation) : .invalidClassName(className)
        }
        try OwnClasses.checkSessions(className, principal)
        return className
    }

    /// The protocol's name of the operation on objects.
    private var operation: String {
        switch request.method {
        case .post: "create"
        case .put: "update"
        case .delete: "delete"
        default: self["objectId"].isEmpty ? "find" : "get"
        }
    }
}
