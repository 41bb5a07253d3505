import ParseProtocol

/// The rights of the read-only master key, all in this one place. A route that is not named here is refused, so that
/// new routes start closed. `ServiceClient.write` is the second guard: it refuses any change under this key.
enum ReadOnlyKey {
    static func admits(_ method: ParseRequest.Method, _ path: [Substring]) -> Bool {
        switch (method, path.first) {
        // These create a session or count a failed sign-in.
        case (.get, "login"), (.get, "verifyPassword"): false
        case (.get, _): true
        // Each request of a batch is checked on its own.
        case (.post, "batch"): true
        case (.post, "functions") where path.count == 2:
            ServiceDirectory.service(ofFunction: String(path[1]))?.writes == false
        default: false
        }
    }
}

extension ParseError {
    static let readOnlyKey = ParseError(
        .operationForbidden, "Cannot perform a write operation when using readOnlyMasterKey")
}
