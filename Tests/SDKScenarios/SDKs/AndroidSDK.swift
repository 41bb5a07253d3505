import Foundation
import TestSupport

/// Parse-SDK-Android: every option is a string, including `where` (MOBILE_SDKS section 2).
struct AndroidSDK: TunnellingSDK {
    enum Version: String, CaseIterable { case old = "1.10.3", new = "4.4.0" }

    static let contentType = "application/json"

    let version: Version
    let wire: Wire
    var session = ""
    var userId = ""
    let installation = UUID().uuidString.lowercased()
    let anonymousId = UUID().uuidString.lowercased()

    init(_ suite: Suite, _ version: Version) {
        self.version = version
        let agent = "Parse Android SDK \(version.rawValue) (com.example.shop/7) API Level \(version == .old ? 21 : 34)"
        wire = Wire(suite: suite, headers: ["User-Agent: \(agent)", "Accept-Encoding: gzip"])
    }

    var base: String { version == .old ? "/1" : "/parse" }

    func headers(revocable: Bool = false) -> [String] {
        var headers = [
            "X-Parse-Application-Id: satchel", "X-Parse-Client-Key: client", "X-Parse-App-Build-Version: 7",
            "X-Parse-App-Display-Version: 1.0", "X-Parse-OS-Version: 5.0.2", "X-Parse-Installation-Id: \(installation)",
        ]
        if version == .old { headers.append("X-Parse-Client-Version: a\(version.rawValue)") }
        if !session.isEmpty { headers.append("X-Parse-Session-Token: \(session)") }
        if revocable { headers.append("X-Parse-Revocable-Session: 1") }
        return headers
    }

    /// Up to 1.15 without a limit, so that the answer contains the rows too.
    func count(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        let count = version == .old ? #""count":"1""# : #""count":"1","limit":"0""#
        return try await command("GET", "classes/\(className)", Self.adding(count, to: Self.body(query)))
    }

    static func body(_ query: SDKQuery) -> String {
        var members: [(key: String, value: String)] = []
        func add(_ key: String, _ text: String) { if !text.isEmpty { members.append((key, "\"\(text)\"")) } }
        add("where", query.conditions.isEmpty ? "" : quoted(query.condition))
        add("order", query.order)
        add("limit", query.limit.map(String.init) ?? "")
        add("skip", query.skip == 0 ? "" : "\(query.skip)")
        add("keys", query.keys)
        add("include", query.include)
        add("redirectClassNameForKey", query.redirectKey)
        return SDKQuery.object(members)
    }

    /// JSON text inside a JSON string.
    static func quoted(_ text: String) -> String {
        text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
    }

    /// The body repeats the id.
    func update(_ className: String, _ id: String, _ members: String) async throws -> Wire.Answer {
        try await command("PUT", "classes/\(className)/\(id)", #"{\#(members),"objectId":"\#(id)"}"#)
    }

    var installationBody: String {
        #"""
        {"deviceType":"android","pushType":"\#(version == .old ? "gcm" : "fcm")","installationId":"\#(installation)",\#
        "deviceToken":"APA91b\#(installation)","GCMSenderId":"123456789","timeZone":"America/Los_Angeles",\#
        "localeIdentifier":"en-US","appVersion":"\#(version == .old ? "1.0" : "7")","appName":"Shop",\#
        "appIdentifier":"com.example.shop","parseVersion":"\#(version.rawValue)"}
        """#
    }

    /// For an anonymous user that is already saved; otherwise a new account, up to 1.16.0 as an object of the class.
    mutating func signUp(_ email: String, _ password: String) async throws -> Wire.Answer {
        let members = Self.account(email, password)
        guard userId.isEmpty else {
            return try await update("_User", userId, #"\#(members),"authData":{"anonymous":null}"#)
        }
        return try await send("POST", version == .old ? "classes/_User" : "users", "{\(members)}", revocable: true)
    }

    func logOut() async throws -> Wire.Answer { try await command("POST", "logout", "{}") }
}
