import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Parse-SDK-iOS-OSX: reads with parameters are a POST with `_method`, options are texts, slashes are escaped
/// (MOBILE_SDKS section 1).
struct IOSSDK: ReplayedSDK {
    enum Version: String, CaseIterable { case old = "1.8.5", new = "6.1.1" }

    let version: Version
    let wire: Wire
    var session = ""
    var userId = ""
    let installation = UUID().uuidString.lowercased()
    let deviceToken = Self.newDeviceToken()
    let anonymousId = UUID().uuidString.lowercased()
    /// Versions 4.1 to 6.1.1 make one id per launch of the app and send it with every request.
    private let launch = UUID().uuidString.uppercased()

    init(_ suite: Suite, _ version: Version) {
        self.version = version
        let agent = version == .old ? "CFNetwork/758.0.2 Darwin/15.0.0" : "CFNetwork/3826.500.131 Darwin/24.5.0"
        wire = Wire(
            suite: suite,
            headers: [
                "Accept: */*", "Accept-Encoding: gzip, deflate", "Accept-Language: en-us",
                "User-Agent: Shop/7 \(agent)",
            ])
    }

    /// Up to 1.11 the host is a setting and the path is not.
    var base: String { version == .old ? "/1" : "/parse" }

    static func newDeviceToken() -> String {
        (UUID().uuidString + UUID().uuidString).lowercased().replacingOccurrences(of: "-", with: "")
    }

    /// The headers of the URL session, which every request has, file downloads too.
    func headers(revocable: Bool = false) -> [String] {
        var headers = [
            "X-Parse-Application-Id: satchel", "X-Parse-Client-Version: i\(version.rawValue)",
            "X-Parse-OS-Version: 9.0 (13A344)", "X-Parse-App-Build-Version: 7", "X-Parse-App-Display-Version: 1.0",
            "X-Parse-Installation-Id: \(installation)",
        ]
        headers.append(version == .old ? "X-Parse-Client-Key: client" : "X-Parse-Request-Id: \(launch)")
        if !session.isEmpty { headers.append("X-Parse-Session-Token: \(session)") }
        if revocable { headers.append("X-Parse-Revocable-Session: 1") }
        return headers
    }

    func command(_ method: String, _ path: String, _ body: String?) async throws -> Wire.Answer {
        try await send(method, path, body)
    }

    private func send(
        _ method: String, _ path: String, _ body: String?, revocable: Bool = false
    ) async throws -> Wire.Answer {
        let isTunnelled = body != nil && (method == "GET" || method == "DELETE")
        let line = "\(isTunnelled ? "POST" : method) \(base)/\(path)"
        let text = body.map { isTunnelled ? Self.adding(#""_method":"\#(method)""#, to: $0) : $0 } ?? ""
        let type = body == nil ? [] : ["Content-Type: application/json; charset=utf8"]
        return try await wire.send(
            line, headers(revocable: revocable) + type, text.replacingOccurrences(of: "/", with: "\\/")
        ).readable(line)
    }

    func find(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        try await command("GET", "classes/\(className)", Self.body(query))
    }

    func count(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        let body = Self.adding(#""count":"1","limit":"0""#, to: Self.body(query))
        return try await command("GET", "classes/\(className)", body)
    }

    private static func body(_ query: SDKQuery) -> String {
        var members: [(key: String, value: String)] = []
        func add(_ key: String, _ text: String) { if !text.isEmpty { members.append((key, "\"\(text)\"")) } }
        add("order", query.order)
        add("limit", query.limit.map(String.init) ?? "")
        add("skip", query.skip == 0 ? "" : "\(query.skip)")
        add("keys", query.keys)
        add("include", query.include)
        add("redirectClassNameForKey", query.redirectKey)
        if !query.conditions.isEmpty { members.append(("where", query.condition)) }
        return SDKQuery.object(members)
    }

    /// Without one, functions are called without a body.
    func function(_ name: String, _ parameters: String?) async throws -> Wire.Answer {
        try await command("POST", "functions/\(name)", parameters == "{}" ? nil : parameters)
    }

    var installationBody: String {
        #"""
        {"deviceType":"ios","installationId":"\#(installation)","deviceToken":"\#(deviceToken)",\#
        "timeZone":"America/Los_Angeles","badge":0,"appName":"Shop","appVersion":"1.0",\#
        "appIdentifier":"com.example.shop","parseVersion":"\#(version.rawValue)",\#
        "localeIdentifier":"en-US","channels":["all"]}
        """#
    }

    func saveInstallation() async throws -> Wire.Answer {
        try await command("POST", "classes/_Installation", installationBody)
    }

    var anonymousData: String { #"{"id":"\#(anonymousId)"}"# }

    /// The lazy user that goes to the server when it is first needed.
    mutating func begin() async throws {
        let answer = try await serviceLogIn("anonymous", anonymousData)
        become(answer)
        answer.expectWholeAuthData("anonymous", anonymousData)
    }

    func serviceLogIn(_ provider: String, _ data: String) async throws -> Wire.Answer {
        try await send("POST", "users", #"{"authData":{"\#(provider)":\#(data)}}"#, revocable: true)
    }

    /// Of an anonymous user that is saved already.
    mutating func signUp(_ email: String, _ password: String) async throws -> Wire.Answer {
        let members = #""username":"\#(email)","password":"\#(password)","email":"\#(email)""#
        guard !userId.isEmpty else { return try await send("POST", "users", "{\(members)}", revocable: true) }
        return try await send(
            "PUT", "classes/_User/\(userId)", #"{\#(members),"authData":{"anonymous":null}}"#, revocable: true)
    }

    func logIn(_ name: String, _ password: String) async throws -> Wire.Answer {
        try await send("GET", "login", #"{"username":"\#(name)","password":"\#(password)"}"#, revocable: true)
    }

    /// Without a body and a type.
    func logOut() async throws -> Wire.Answer { try await command("POST", "logout", nil) }

    func upload(_ name: String, _ content: [UInt8], type: String?) async throws -> Wire.Answer {
        let line = "POST \(base)/files/\(name)"
        return try await wire.send(
            line, headers() + (type.map { ["Content-Type: \($0)"] } ?? []), bytes: content
        ).readable(line)
    }
}
