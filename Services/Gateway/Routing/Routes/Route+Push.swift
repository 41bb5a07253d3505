/// Push notifications and their audiences.
extension Route {
    static let push: [Route] =
        [
            Route(.post, "/push", .push, "sendPush", "Sends a push, now or later.", access: .desk(.admins)) {
                try await $0.controllers.push.send($0.request, $0.principal)
            }
        ]
        + [
            (.get, "/push_audiences", "findPushAudiences", "The groups pushes go to."),
            (.post, "/push_audiences", "createPushAudience", "Creates a group."),
            (.get, "/push_audiences/{objectId}", "getPushAudience", "One group."),
            (.put, "/push_audiences/{objectId}", "updatePushAudience", "Changes a group."),
            (.delete, "/push_audiences/{objectId}", "deletePushAudience", "Deletes a group."),
        ].map { (method: ParseRequest.Method, path: String, id: String, summary: String) in
            Route(method, path, .push, id, summary, access: .desk(.admins)) {
                try await $0.controllers.push.audiences($0.request, $0.principal)
            }
        }
}
