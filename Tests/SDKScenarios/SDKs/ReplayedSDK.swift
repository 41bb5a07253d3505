import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A mobile SDK's requests (MOBILE_SDKS.md), byte for byte as the SDK's version writes them. Bodies are strings that
/// are never parsed and re-serialized, so the sent bytes are those in the test.
protocol ReplayedSDK: Sendable {
    associatedtype Version

    init(_ suite: Suite, _ version: Version)

    /// The current user's token; empty when no user is signed in.
    var session: String { get set }
    var userId: String { get set }
    /// The device's id, chosen by the SDK.
    var installation: String { get }
    /// The path prefix of every route: hosted Parse's `/1`, or the path of the shop's URL.
    var base: String { get }
    /// The device data that the SDK sends.
    var installationBody: String { get }

    /// A request with or without a JSON body.
    func command(_ method: String, _ path: String, _ body: String?) async throws -> Wire.Answer
    func find(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer
    func count(_ className: String, _ query: SDKQuery) async throws -> Wire.Answer
    func update(_ className: String, _ id: String, _ members: String) async throws -> Wire.Answer
    func function(_ name: String, _ parameters: String?) async throws -> Wire.Answer
    func config() async throws -> Wire.Answer
    func opened() async throws -> Wire.Answer
    /// The first save of the device.
    func saveInstallation() async throws -> Wire.Answer
    /// Creates the user that the SDK has before a sign-up: an anonymous one, or none.
    mutating func begin() async throws
    mutating func signUp(_ email: String, _ password: String) async throws -> Wire.Answer
    func logIn(_ name: String, _ password: String) async throws -> Wire.Answer
    func me() async throws -> Wire.Answer
    func logOut() async throws -> Wire.Answer
}

extension ReplayedSDK {
    /// The device of a new customer of the shared suite.
    static func customer(_ version: Version) async throws -> Self {
        var sdk = Self(try await Suite.shared, version)
        sdk.become(try await sdk.signUp("\(Names.random(10).lowercased())@handsets.example", "secret1"))
        try #require(!sdk.session.isEmpty)
        return sdk
    }

    /// The members of a new account.
    static func account(_ email: String, _ password: String) -> String {
        #""username":"\#(email)","password":"\#(password)","email":"\#(email)""#
    }

    func create(_ className: String, _ members: String) async throws -> Wire.Answer {
        try await command("POST", "classes/\(className)", "{\(members)}")
    }

    func update(_ className: String, _ id: String, _ members: String) async throws -> Wire.Answer {
        try await command("PUT", "classes/\(className)/\(id)", "{\(members)}")
    }

    func delete(_ className: String, _ id: String) async throws -> Wire.Answer {
        try await command("DELETE", "classes/\(className)/\(id)", nil)
    }

    func function(_ name: String, _ parameters: String?) async throws -> Wire.Answer {
        try await command("POST", "functions/\(name)", parameters)
    }

    func config() async throws -> Wire.Answer { try await command("GET", "config", nil) }

    func opened() async throws -> Wire.Answer {
        try await command(
            "POST", "events/AppOpened", #"{"at":{"__type":"Date","iso":"2015-10-08T00:28:56.123Z"}}"#)
    }

    func saveInstallation() async throws -> Wire.Answer {
        try await command("POST", "classes/_Installation", installationBody)
    }

    mutating func begin() async throws {}

    func me() async throws -> Wire.Answer { try await command("GET", "users/me", nil) }

    mutating func become(_ answer: Wire.Answer) {
        if let token = answer.json["sessionToken"]?.stringValue { session = token }
        if !answer.json.objectId.isEmpty { userId = answer.json.objectId }
    }

    var userPointer: String { Self.pointer("_User", userId) }

    static func pointer(_ className: String, _ id: String) -> String {
        #"{"__type":"Pointer","className":"\#(className)","objectId":"\#(id)"}"#
    }

    /// An object's text with another member appended.
    static func adding(_ member: String, to object: String) -> String {
        object.dropLast() + (object == "{}" ? "" : ",") + member + "}"
    }
}

/// A query's options as an app sets them. Each SDK serializes them in its own form.
struct SDKQuery: Sendable {
    /// Keys with the JSON text of their constraint, in serialization order.
    var conditions: [(key: String, value: String)] = []
    var order = ""
    var limit: Int?
    var skip = 0
    var keys = ""
    var include = ""
    var redirectKey = ""

    /// The `where` of SDKs that write no spaces.
    var condition: String { Self.object(conditions) }

    static func object(_ members: [(key: String, value: String)], colon: String = ":") -> String {
        "{\(members.map { "\"\($0.key)\"\(colon)\($0.value)" }.joined(separator: ","))}"
    }
}

extension Wire.Answer {
    /// The answer, checked for every SDK's requirements: a success is a JSON object (an array for a batch), a failure
    /// has code and text.
    func readable(_ line: String) -> Wire.Answer {
        if (200..<300).contains(status) {
            let isBatch = line.hasSuffix("/batch")
            #expect(isBatch ? json.arrayValue != nil : json.objectValue != nil, "\(line): \(text)")
            #expect(header("Content-Type")?.hasPrefix("application/json") == true, "\(line): \(head)")
        } else {
            #expect(json["code"]?.intValue != nil, "\(line): \(status) \(text)")
            #expect(json["error"]?.stringValue != nil, "\(line): \(status) \(text)")
        }
        for name in ["createdAt", "updatedAt"] {
            guard let time = json[name]?.stringValue else { continue }
            #expect(time.wholeMatch(of: /[0-9T:-]{19}\.[0-9]{3}Z/) != nil, "\(text)")
        }
        return self
    }

    /// A provider's part of `authData` replaces the device's copy: it must be complete or absent (MOBILE_SDKS section
    /// 7).
    func expectWholeAuthData(_ provider: String, _ sent: String, at location: SourceLocation = #_sourceLocation) {
        guard let known = json["authData"]?[provider] else { return }
        #expect(known == (try? JSON(parsing: sent)), "\(text)", sourceLocation: location)
    }
}
