import HTTPTypes
import Messages
import NIOCore
import ParseProtocol

/// A sampled read with Satchel's response.
struct ShadowRead: Sendable {
    let question: ShadowQuestion
    /// Path under the mount with the query string.
    let target: String
    let headers: [(name: String, value: String)]
    private let answer: ParseResponse

    /// Bytes of either server's response.
    static let answerBytesMax = 1 << 20

    /// Marks the requests of the shadow mode, which are not sampled: two suites may shadow each other.
    private static let mark = headerName("X-Satchel-Shadow")

    /// The options that both servers have. A read with another one is not sampled, so that no credential in a query
    /// string is sent.
    private static let options: Set<String> = [
        "where", "order", "limit", "skip", "count", "keys", "excludeKeys", "include", "includeAll",
    ]

    /// Nil for a request that the old server does not get. Reads of operators are among these, with the master key and
    /// with a session: they see more than clients.
    /// - Parameter limitMax: of the gateway.
    init?(
        _ request: ParseRequest, _ principal: Principal, _ answer: ParseResponse, _ settings: ShadowSettings,
        limitMax: Int
    ) {
        let path = request.path
        guard path.count == 2 || path.count == 3, path[0] == "classes", request.tunnelled == nil, request.body.isEmpty,
            !request.isHead, request.viewer == nil, answer.stream == nil, request.headers[Self.mark] == nil,
            !principal.isPrivileged, principal.areas.isEmpty, request.credentials.masterKey == nil,
            settings.sends == .sessions || request.credentials.sessionToken == nil
        else { return nil }
        let className = String(path[1])
        let objectId = path.count == 3 ? String(path[2]) : nil
        guard Names.isIdentifier(className), objectId.map(Names.isObjectId) ?? true,
            let pairs = try? ParseRequest.orderedPairs(Substring(request.query ?? "").utf8),
            pairs.allSatisfy({ Self.options.contains($0.name) })
        else { return nil }
        func number(_ name: String) -> Int? { pairs.last { $0.name == name }.flatMap { Int($0.value) } }
        question = ShadowQuestion(
            className, objectId, isOrdered: pairs.contains { $0.name == "order" && !$0.value.isEmpty },
            skip: number("skip") ?? 0, limit: min(number("limit") ?? QueryOptions().limit, limitMax))
        let query = pairs.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
        target =
            "/classes/\(className)" + (objectId.map { "/\($0)" } ?? "") + (query.isEmpty ? "" : "?\(query)")
        headers = Self.headers(request.credentials, settings)
        self.answer = answer
    }

    private static func headers(
        _ credentials: Credentials, _ settings: ShadowSettings
    ) -> [(name: String, value: String)] {
        var headers = [("X-Parse-Application-Id", settings.applicationId), (mark.rawName, "1")]
        if settings.sends != .nothing {
            for (kind, key) in credentials.clientKeys { headers.append((name(of: kind), key)) }
        }
        if settings.sends == .sessions, let token = credentials.sessionToken {
            headers.append(("X-Parse-Session-Token", token))
        }
        return headers.map { (name: $0.0, value: $0.1) }
    }

    private static func name(of key: GatewayConfiguration.ClientKey) -> String {
        switch key {
        case .rest: "X-Parse-REST-API-Key"
        case .javascript: "X-Parse-Javascript-Key"
        case .client: "X-Parse-Client-Key"
        case .windows: "X-Parse-Windows-Key"
        }
    }

    var answerBytes: Int { answer.bodyBytes }

    /// A copy of Satchel's response.
    var answerBody: [UInt8] { answer.final.map { Array($0.buffer.readableBytesView) } ?? answer.body }
}
