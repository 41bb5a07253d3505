import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Parse-SDK-Flutter: real verbs, hand-written query strings, text/plain for half of the bodies (MOBILE_SDKS section
/// 4).
struct FlutterSDK: ReplayedSDK {
    enum Version: String, CaseIterable { case old = "1.0.28", new = "8.0.0" }

    let version: Version
    let wire: Wire
    var session = ""
    var userId = ""
    let installation = UUID().uuidString.lowercased()
    let base = "/parse"

    static let json = "application/json", text = "text/plain; charset=utf-8"

    init(_ suite: Suite, _ version: Version) {
        self.version = version
        wire = Wire(
            suite: suite, headers: ["user-agent: Flutter Parse SDK \(version.rawValue)", "accept-encoding: gzip"])
    }

    func command(_ method: String, _ path: String, _ body: String?) async throws -> Wire.Answer {
        try await send(method, path, body, type: Self.json)
    }

    /// - Parameter names: whether the request identifies the device, as on sign-up and log-in.
    func send(
        _ method: String, _ path: String, _ body: String?, type: String, names: Bool = false
    ) async throws -> Wire.Answer {
        let line = "\(method) \(base)/\(path)"
        var headers = ["X-Parse-Application-Id: satchel", "X-Parse-Client-Key: client"]
        if !session.isEmpty { headers.append("X-Parse-Session-Token: \(session)") }
        if names { headers += ["X-Parse-Revocable-Session: 1", "X-Parse-Installation-Id: \(installation)"] }
        if body != nil { headers.append("content-type: \(type)") }
        return try await wire.send(line, headers, body ?? "").readable(line)
    }

    /// The SDK treats an answer with exactly one key as a list.
    func find(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        let answer = try await command("GET", "classes/\(className)\(Self.queryText(query))", nil)
        if answer.status == 200 {
            #expect(Set(answer.json.objectValue?.keys.map(\.self) ?? []) == ["results"], "\(answer.text)")
        }
        return answer
    }

    /// Without a limit, because the SDK treats an empty `results` as "no results".
    func count(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        let text = Self.queryText(query)
        let answer = try await command("GET", "classes/\(className)\(text)\(text.isEmpty ? "?" : "&")count=1", nil)
        #expect(Set(answer.json.objectValue?.keys.map(\.self) ?? []) == ["results", "count"], "\(answer.text)")
        #expect(answer.results.isEmpty == (answer.json["count"] == 0), "\(answer.text)")
        return answer
    }

    private static func queryText(_ query: SDKQuery) -> String {
        var parts: [String] = []
        func add(_ key: String, _ text: String) { if !text.isEmpty { parts.append("\(key)=\(text)") } }
        add("where", query.conditions.isEmpty ? "" : SDKQuery.object(query.conditions, colon: ": "))
        add("limit", query.limit.map(String.init) ?? "")
        add("skip", query.skip == 0 ? "" : "\(query.skip)")
        add("order", query.order)
        add("keys", query.keys)
        add("include", query.include)
        add("redirectClassNameForKey", query.redirectKey)
        return parts.isEmpty ? "" : "?" + escaped(parts.joined(separator: "&"))
    }

    /// Dart's `Uri` leaves characters unescaped that a query may contain.
    private static func escaped(_ text: String) -> String {
        let kept = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~!$&'()*+,;=:@/?%"))
        return text.addingPercentEncoding(withAllowedCharacters: kept) ?? ""
    }

    func function(_ name: String, _ parameters: String?) async throws -> Wire.Answer {
        try await send("POST", "functions/\(name)", parameters, type: Self.text)
    }

    /// The SDK does not count opens; it checks whether the server runs.
    func opened() async throws -> Wire.Answer { try await command("GET", "health", nil) }

    var deviceMembers: String {
        #"""
        "deviceType":"android","timeZone":"America/Los_Angeles","localeIdentifier":"en-US","appName":"Shop",\#
        "appVersion":"1.0","appIdentifier":"com.example.shop","parseVersion":"\#(version.rawValue)"
        """#
    }

    var installationBody: String {
        #"{"installationId":"\#(installation)",\#(deviceMembers),"deviceToken":null}"#
    }

    func saveInstallation() async throws -> Wire.Answer {
        try await command("POST", "installations", installationBody)
    }

    mutating func signUp(_ email: String, _ password: String) async throws -> Wire.Answer {
        try await send(
            "POST", "classes/_User", "{\(Self.account(email, password))}", type: Self.text, names: true)
    }

    /// By query string up to 1.0.
    func logIn(_ name: String, _ password: String) async throws -> Wire.Answer {
        guard version == .new else {
            let query = Self.escaped("username=\(name)&password=\(password)")
            return try await send("GET", "login?\(query)", nil, type: Self.text, names: true)
        }
        return try await send(
            "POST", "login", #"{"username":"\#(name)","password":"\#(password)"}"#, type: Self.text, names: true)
    }

    func logOut() async throws -> Wire.Answer { try await send("POST", "logout", nil, type: Self.text) }
}
