import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Parse-SDK-dotNET: real verbs and query strings. Unity's HTTP only supports POST, so there the verb is in the body,
/// and the query string remains (MOBILE_SDKS section 3).
struct DotNetSDK: ReplayedSDK {
    enum Version: String, CaseIterable { case old = "net45-1.6.2.0", new = "5.0.1", unity = "unity-1.6.2.0" }

    let version: Version
    let wire: Wire
    var session = ""
    var userId = ""
    let installation = UUID().uuidString.lowercased()

    init(_ suite: Suite, _ version: Version) {
        self.version = version
        wire = Wire(
            suite: suite,
            headers: version == .unity
                ? ["User-Agent: UnityPlayer/5.3.4f1 (http://unity3d.com)", "Accept: */*", "X-Unity-Version: 5.3.4f1"]
                : [])
    }

    var base: String { version == .new ? "/parse" : "/1" }

    private func headers(hasBody: Bool) -> [String] {
        var headers = [
            "X-Parse-Application-Id: satchel", "X-Parse-Client-Version: \(version.rawValue)",
            "X-Parse-Installation-Id: \(installation)", "X-Parse-App-Build-Version: 7",
            "X-Parse-App-Display-Version: 1.0", "X-Parse-OS-Version: 10.0.19045", "X-Parse-Windows-Key: ",
            "X-Parse-Revocable-Session: 1", "Cache-Control: no-cache",
        ]
        if version == .new { headers.append("If-Modified-Since: \(Self.now())") }
        if !session.isEmpty { headers.append("X-Parse-Session-Token: \(session)") }
        if hasBody { headers.append("Content-Type: application/json") }
        return headers
    }

    private static func now() -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Date())
    }

    func command(_ method: String, _ path: String, _ body: String?) async throws -> Wire.Answer {
        // Unity: a request that is not a POST with a body becomes one.
        guard version == .unity, method != "POST" || body == nil else { return try await send(method, path, body) }
        let tunnel = #""_method":"\#(method)","_noBody":\#(body == nil)"#
        return try await send("POST", path, Self.adding(tunnel, to: body ?? "{}"))
    }

    private func send(_ method: String, _ path: String, _ body: String?) async throws -> Wire.Answer {
        let line = "\(method) \(base)/\(path)"
        let answer = try await wire.send(line, headers(hasBody: body != nil), body ?? "").readable(line)
        #expect(answer.status != 304, "\(line): version 5 asks for changes since now and cannot read 304")
        return answer
    }

    func find(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        try await command("GET", "classes/\(className)?\(Self.queryText(query))", nil)
    }

    func count(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        var query = query
        query.limit = 0
        return try await command("GET", "classes/\(className)?\(Self.queryText(query))&count=1", nil)
    }

    private static func queryText(_ query: SDKQuery) -> String {
        var parts: [String] = []
        func add(_ key: String, _ text: String) { if !text.isEmpty { parts.append("\(key)=\(escaped(text))") } }
        add("where", query.conditions.isEmpty ? "" : query.condition)
        add("order", query.order)
        add("skip", query.skip == 0 ? "" : "\(query.skip)")
        add("limit", query.limit.map(String.init) ?? "")
        add("include", query.include)
        add("keys", query.keys)
        add("redirectClassNameForKey", query.redirectKey)
        return parts.joined(separator: "&")
    }

    /// `Uri.EscapeDataString`.
    static func escaped(_ text: String) -> String {
        let kept = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-_.~"))
        return text.addingPercentEncoding(withAllowedCharacters: kept) ?? ""
    }

    func opened() async throws -> Wire.Answer {
        try await command(
            "POST", "events/AppOpened",
            #"{"at":{"__type":"Date","iso":"2015-10-08T00:28:56.123Z"},"name":"AppOpened"}"#)
    }

    var installationBody: String {
        #"""
        {"installationId":"\#(installation)","deviceType":"\#(version == .new ? "dotnet" : "winrt")","appName":"Shop",\#
        "appVersion":"1.0.0.0","appIdentifier":"com.example.shop","timeZone":"America/Los_Angeles",\#
        "localeIdentifier":"en-US","parseVersion":"\#(version == .new ? "5.0.1" : "1.6.2.0")",\#
        "deviceUris":{"_Default":"https://db3.notify.example/?token=a"}}
        """#
    }

    mutating func signUp(_ email: String, _ password: String) async throws -> Wire.Answer {
        try await create("_User", Self.account(email, password))
    }

    /// By query string up to 1.x.
    func logIn(_ name: String, _ password: String) async throws -> Wire.Answer {
        guard version == .new else {
            return try await command(
                "GET", "login?username=\(Self.escaped(name))&password=\(Self.escaped(password))", nil)
        }
        return try await command("POST", "login", #"{"username":"\#(name)","password":"\#(password)"}"#)
    }

    func logOut() async throws -> Wire.Answer { try await command("POST", "logout", "{}") }
}
