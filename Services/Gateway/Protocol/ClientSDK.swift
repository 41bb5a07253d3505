/// The SDK that a client says it is, by `X-Parse-Client-Version` (`js5.3.0`, `i1.19`): a closed list, because anybody
/// can send anything and every name is a line on a graph.
package enum ClientSDK: UInt8, CaseIterable, Sendable {
    /// No version was sent, as by curl and plain REST clients.
    case unknown
    case js, php, ios, osx, android, swift, dotnet, unity, flutter, embedded
    /// A name that is not in the list.
    case other

    /// Reads the letters in front of the version. Looks at no more bytes than the longest name has.
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

    /// Whether the SDK takes `{"__op":"Delete"}` in an answer for a removal: JavaScript's, and clients without one
    /// (Parse Server's rule). Others would keep the operator as the field's value.
    package var knowsRemovals: Bool { self == .js || self == .unknown }

    /// The kind of device that such an SDK runs on, as far as its name tells.
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
