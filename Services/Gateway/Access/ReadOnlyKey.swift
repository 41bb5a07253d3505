import ParseProtocol

/// The rights of the read-only master key. This is the one place that says what they are. Everything that is not named
/// is refused, also what is built later; and `ServiceClient.write` refuses whatever would get past.
enum ReadOnlyKey {
    static func admits(_ method: ParseRequest.Method, _ path: [Substring]) -> Bool {
        switch (method, path.first) {
        // A session is made, a failed sign-in is counted.
        case (.get, "login"), (.get, "verifyPassword"): false
        case (.get, _): true
        // Each request of a batch is asked about by itself.
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
