import Foundation
import TestSupport

/// Parse-SDK-iOS-OSX: options are strings, `where` is an object (MOBILE_SDKS section 1).
struct IOSSDK: TunnellingSDK {
    enum Version: String, CaseIterable { case old = "1.8.5", new = "6.1.1" }

    static let contentType = "application/json; charset=utf8"

    let version: Version
    let wire: Wire
    var session = ""
    var userId = ""
    let installation = UUID().uuidString.lowercased()
    let deviceToken = Self.newDeviceToken()
    let anonymousId = UUID().uuidString.lowercased()
    /// Versions 4.1 to 6.1.1 generate one id per launch of the app and send it with every request.
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

    /// Up to 1.11 only the host can be set, not the path.
    var base: String { version == .old ? "/1" : "/parse" }

    static func newDeviceToken() -> String {
        (UUID().uuidString + UUID().uuidString).lowercased().replacingOccurrences(of: "-", with: "")
    }

    /// The headers of the URL session, which all requests have, including file downloads.
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

    func count(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        let body = Self.adding(#""count":"1","limit":"0""#, to: Self.body(query))
        return try await command("GET", "classes/\(className)", body)
    }

    static func body(_ query: SDKQuery) -> String {
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

    /// Without parameters, functions are called without a body.
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

    /// For an anonymous user that is already saved.
    mutating func signUp(_ email: String, _ password: String) async throws -> Wire.Answer {
        let members = Self.account(email, password)
        guard !userId.isEmpty else { return try await send("POST", "users", "{\(members)}", revocable: true) }
        return try await send(
            "PUT", "classes/_User/\(userId)", #"{\#(members),"authData":{"anonymous":null}}"#, revocable: true)
    }

    /// Without a body and a type.
    func logOut() async throws -> Wire.Answer { try await command("POST", "logout", nil) }
}
