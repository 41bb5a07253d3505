import ParseProtocol

/// A message of a client (PARSE_PROTOCOL section 13).
package enum LiveRequest: Sendable, Equatable {
    case connect(LiveConnect)
    case subscribe(LiveSubscribing)
    /// Replaces the query of an existing subscription.
    case update(LiveSubscribing)
    case unsubscribe(requestId: Int64)

    /// - Throws: `LiveProblem` with code 1 for malformed messages. Unknown members are rejected, because the client
    ///   would rely on them.
    package init(_ text: [UInt8]) throws(LiveProblem) {
        guard let json = try? JSON(clientText: text), case .object(let members) = json else {
            throw .schema("A message must be a JSON object.")
        }
        let reader = LiveMembers(members)
        switch try reader.text("op") {
        case "connect": self = .connect(try LiveConnect(reader))
        case "subscribe": self = .subscribe(try LiveSubscribing(reader))
        case "update": self = .update(try LiveSubscribing(reader))
        case "unsubscribe":
            try reader.allow(["op", "requestId"])
            self = .unsubscribe(requestId: try reader.requestId())
        case let name?: throw .schema("No enum match for: \"\(name.prefix(40))\"")
        case nil: throw .schema("Missing required property: op")
        }
    }
}

extension LiveRequest {
    static func decode(_ text: [UInt8]) -> Result<LiveRequest, LiveProblem> {
        do throws(LiveProblem) {
            return .success(try LiveRequest(text))
        } catch {
            return .failure(error)
        }
    }
}

/// An error in the form that live query clients get.
package struct LiveProblem: Error, Sendable, Equatable {
    package let code: Int
    package let message: String
    /// The subscription that failed; nil for the connection.
    package var requestId: Int64?
    /// Whether the client should reconnect.
    package var reconnects = false

    package init(_ code: Int, _ message: String, requestId: Int64? = nil, reconnects: Bool = false) {
        self.code = code
        self.message = message
        self.requestId = requestId
        self.reconnects = reconnects
    }

    init(_ error: ParseError, requestId: Int64?) {
        self.init(
            error.code.rawValue, error.message, requestId: requestId,
            reconnects: error.code == .serviceUnavailable || error.code == .timeout)
    }

    static func schema(_ message: String) -> LiveProblem { LiveProblem(1, message) }

    /// SDKs react to this text: they reconnect and omit newer members.
    static let additionalProperties = LiveProblem(1, "Additional properties not allowed", reconnects: true)

    static let notConnected = LiveProblem(
        2, "Can not find this client, make sure you connect to server before subscribing")

    static func noSubscription(_ requestId: Int64) -> LiveProblem {
        LiveProblem(
            2, "Cannot find a subscription with requestId \(requestId). Make sure you subscribe before.",
            requestId: requestId)
    }

    static let wrongKey = LiveProblem(4, "Key in request is not valid")
}

/// `connect`: the app and the session.
package struct LiveConnect: Sendable, Equatable {
    package let applicationId: String
    /// Keys by their names in the protocol.
    package let keys: [String: String]
    package let sessionToken: String?
    package let installationId: String?

    private static let keyNames = ["javascriptKey", "masterKey", "clientKey", "windowsKey", "restAPIKey"]

    fileprivate init(_ members: LiveMembers) throws(LiveProblem) {
        try members.allow(["op", "applicationId", "sessionToken", "installationId"] + Self.keyNames)
        guard let id = try members.text("applicationId") else {
            throw .schema("Missing required property: applicationId")
        }
        applicationId = id
        var keys: [String: String] = [:]
        for name in Self.keyNames { keys[name] = try members.filledText(name) }
        self.keys = keys
        sessionToken = try members.filledText("sessionToken")
        installationId = try members.filledText("installationId")
    }

    /// The credentials of an HTTP request with the same keys.
    var credentials: Credentials {
        var credentials = Credentials()
        credentials.applicationId = applicationId
        credentials.masterKey = keys["masterKey"]
        credentials.clientKeys = [
            .javascript: "javascriptKey", .client: "clientKey", .windows: "windowsKey", .rest: "restAPIKey",
        ].compactMapValues { keys[$0] }
        credentials.sessionToken = sessionToken
        credentials.installationId = installationId
        return credentials
    }
}

/// `subscribe` and `update`: the query of a subscription.
package struct LiveSubscribing: Sendable, Equatable {
    package let requestId: Int64
    package let query: SubscribedQuery
    /// Replaces the session of the connection.
    package let sessionToken: String?
    /// The position up to which the client has received events (an extension of Satchel); nil to start now.
    package let cursor: LiveCursor?

    fileprivate init(_ members: LiveMembers) throws(LiveProblem) {
        requestId = try members.requestId()
        do throws(LiveProblem) {
            try members.allow(["op", "requestId", "query", "sessionToken", "installationId", "cursor"])
            sessionToken = try members.filledText("sessionToken")
            let text = try members.filledText("cursor")
            cursor = text.flatMap { LiveCursor($0) }
            if text != nil, cursor == nil { throw LiveProblem.schema("cursor is not one of ours.") }
            guard case .object(let named)? = members["query"] else {
                throw LiveProblem.schema("Missing required property: query")
            }
            query = try SubscribedQuery(LiveMembers(named))
        } catch {
            // The error concerns the connection: SDKs subscribe again after they have reconnected.
            if error == .additionalProperties { throw error }
            var problem = error
            problem.requestId = requestId
            throw problem
        }
    }
}

/// The query of a subscription.
package struct SubscribedQuery: Sendable, Equatable {
    package let className: String
    /// The condition as JSON text.
    package let condition: [UInt8]
    package let keys: [String]
    package let watch: [String]

    package init(className: String, condition: [UInt8], keys: [String], watch: [String]) {
        self.className = className
        self.condition = condition
        self.keys = keys
        self.watch = watch
    }

    fileprivate init(_ members: LiveMembers) throws(LiveProblem) {
        try members.allow(["className", "where", "keys", "fields", "watch"])
        guard let name = try members.text("className") else { throw .schema("Missing required property: className") }
        guard case .object = members["where"] ?? [:] else { throw .schema("where must be an object.") }
        let condition: [UInt8]?
        do throws(ParseError) {
            condition = try OptionValue.condition(members["where"] ?? [:])
        } catch {
            throw LiveProblem(error, requestId: nil)
        }
        // SDKs from before 2020 use the name `fields`.
        let keys = try members.names("keys") + members.names("fields")
        self.init(
            className: name, condition: condition ?? Array("{}".utf8), keys: keys,
            watch: try members.names("watch"))
    }
}

/// A position in a service's feed, from which a returning client requests missed events.
package struct LiveCursor: Sendable, Equatable {
    package let feed: UInt64
    package let position: UInt64

    package init(feed: UInt64, position: UInt64) {
        self.feed = feed
        self.position = position
    }

    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let feed = UInt64(parts[0], radix: 36), let position = UInt64(parts[1], radix: 36)
        else { return nil }
        self.init(feed: feed, position: position)
    }

    package var text: String { String(feed, radix: 36) + "-" + String(position, radix: 36) }
}

/// The members of a message.
private struct LiveMembers {
    private let members: [String: JSON]

    init(_ members: [String: JSON]) { self.members = members }

    subscript(_ name: String) -> JSON? {
        // SDKs send null for missing values.
        members[name].flatMap { $0.isNull ? nil : $0 }
    }

    func allow(_ names: [String]) throws(LiveProblem) {
        guard members.keys.contains(where: { !names.contains($0) }) else { return }
        throw .additionalProperties
    }

    func text(_ name: String) throws(LiveProblem) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw .schema("\(name) must be a string.") }
        return text
    }

    /// An empty text counts as missing.
    func filledText(_ name: String) throws(LiveProblem) -> String? {
        guard let text = try text(name), !text.isEmpty else { return nil }
        return text
    }

    func requestId() throws(LiveProblem) -> Int64 {
        guard let id = self["requestId"]?.intValue else { throw .schema("requestId must be a whole number.") }
        return id
    }

    /// A list of distinct names.
    func names(_ name: String) throws(LiveProblem) -> [String] {
        guard let value = self[name] else { return [] }
        guard let names = value.arrayValue?.compactMap(\.stringValue), names.count == value.arrayValue?.count,
            Set(names).count == names.count
        else { throw .schema("\(name) must be a list of different strings.") }
        return names
    }
}
