import Foundation
import Testing

/// The requests of iOS and Android: reads with parameters are a POST with `_method`, slashes are escaped, and an
/// anonymous user exists before the sign-up (MOBILE_SDKS sections 1 and 2).
protocol TunnellingSDK: ReplayedSDK {
    var wire: Wire { get }
    /// The anonymous user's id, chosen by the device.
    var anonymousId: String { get }
    /// The content type of JSON bodies.
    static var contentType: String { get }

    func headers(revocable: Bool) -> [String]
    /// A query's options as an object.
    static func body(_ query: SDKQuery) -> String
}

extension TunnellingSDK {
    func command(_ method: String, _ path: String, _ body: String?) async throws -> Wire.Answer {
        try await send(method, path, body)
    }

    /// - Parameter revocable: true on sign-up and log-in.
    func send(
        _ method: String, _ path: String, _ body: String?, revocable: Bool = false
    ) async throws -> Wire.Answer {
        let isTunnelled = body != nil && (method == "GET" || method == "DELETE")
        let line = "\(isTunnelled ? "POST" : method) \(base)/\(path)"
        let text = body.map { isTunnelled ? Self.adding(#""_method":"\#(method)""#, to: $0) : $0 } ?? ""
        let type = body == nil ? [] : ["Content-Type: \(Self.contentType)"]
        return try await wire.send(
            line, headers(revocable: revocable) + type, text.replacingOccurrences(of: "/", with: "\\/")
        ).readable(line)
    }

    func find(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer {
        try await command("GET", "classes/\(className)", Self.body(query))
    }

    var anonymousData: String { #"{"id":"\#(anonymousId)"}"# }

    /// Saves the lazily created user when it is first needed.
    mutating func begin() async throws {
        let answer = try await serviceLogIn("anonymous", anonymousData)
        become(answer)
        answer.expectWholeAuthData("anonymous", anonymousData)
    }

    func serviceLogIn(_ provider: String, _ data: String) async throws -> Wire.Answer {
        try await send("POST", "users", #"{"authData":{"\#(provider)":\#(data)}}"#, revocable: true)
    }

    func logIn(_ name: String, _ password: String) async throws -> Wire.Answer {
        try await send("GET", "login", #"{"username":"\#(name)","password":"\#(password)"}"#, revocable: true)
    }

    func upload(_ name: String, _ content: [UInt8], type: String?) async throws -> Wire.Answer {
        let line = "POST \(base)/files/\(name)"
        return try await wire.send(
            line, headers(revocable: false) + (type.map { ["Content-Type: \($0)"] } ?? []), bytes: content
        ).readable(line)
    }
}
