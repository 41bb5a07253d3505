/// The client's SDK by `X-Parse-Client-Version` (`js5.3.0`, `i1.19`). The list is closed, because clients can send any
/// text and every name becomes a line in a chart.
package enum ClientSDK: UInt8, CaseIterable, Sendable {
    /// The client sent no version, as curl and plain REST clients.
    case unknown
    case js, php, ios, osx, android, swift, dotnet, unity, flutter, embedded
    /// A name that is not in the list.
    case other

    /// Reads the letters before the version. It inspects no more bytes than the longest name has.
    package init(version: String?) {
        guard let version, !version.isEmpty else {
            self = .unknown
            return
        }
        let name = version.utf8.prefix(Self.nameBytesMax + 1).prefix { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "-")
        }
        self = Self.names[String(decoding: name, as: UTF8.self).lowercased()] ?? .other
    }

    private static let nameBytesMax = 12
    private static let names: [String: ClientSDK] = [
        "js": .js, "php": .php, "i": .ios, "ios": .ios, "osx": .osx, "a": .android, "android": .android,
        "swift": .swift,
        "net": .dotnet, "dotnet": .dotnet, "unity": .unity, "flutter": .flutter, "dart": .flutter,
        "embedded": .embedded,
        "arduino": .embedded,
    ]

    package var name: String { "\(self)" }

    /// Whether the SDK interprets `{"__op":"Delete"}` in a response as a removal: JavaScript's does, and clients
    /// without a version count as such (Parse Server's rule). Other SDKs would store the operator as the field's value.
    package var interpretsRemovals: Bool { self == .js || self == .unknown }

    /// The kind of device for this SDK, as far as its name shows it.
    package var deviceType: String {
        switch self {
        case .ios, .swift: "ios"
        case .android: "android"
        case .osx: "osx"
        case .js: "web"
        case .php: "server"
        case .dotnet, .unity: "dotnet"
        case .embedded: "embedded"
        case .flutter, .other, .unknown: "unknown"
        }
    }
}
