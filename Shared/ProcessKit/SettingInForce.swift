import Synchronization

/// A setting as a process runs with it, for operators to look at: secrets are masked when it is made.
public struct SettingInForce: Sendable, Equatable {
    /// The name of its variable, `SATCHEL_PORT`.
    public let name: String
    /// Its text, or the one that is taken where it is not set; empty where there is none.
    public let value: String
    /// Whether it is not set.
    public let isDefault: Bool
    /// Whether its text is not shown, but `mask`.
    public let isSecret: Bool

    /// What stands for a secret; it says nothing of how long that is.
    public static let mask = "••••••"

    /// - Parameters:
    ///   - value: nil where it is not set.
    ///   - standard: what is taken then; empty where there is nothing, or nobody said.
    init(name: String, value: String?, standard: String) {
        self.name = name
        isDefault = value == nil
        isSecret = Self.isSecret(name)
        self.value = isSecret ? (value == nil ? "" : Self.mask) : Self.masked(value ?? standard)
    }

    /// Names of what is secret end like this; a database's connection string has a password. A path of a file with a
    /// key, `SATCHEL_USERS_KEY_FILE`, is none.
    private static let secrets: Set<Substring> = [
        "KEY", "KEYS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "TOKEN", "TOKENS", "CREDENTIALS", "DATABASE",
    ]

    static func isSecret(_ name: String) -> Bool { name.split(separator: "_").last.map(secrets.contains) ?? false }

    /// A text without what URLs in it tell of passwords and keys.
    static func masked(_ text: String) -> String {
        text.replacing(#/(:\/\/)[^\/?#\s]*@/#) { "\($0.output.1)\(mask)@" }
            .replacing(#/([?&][^=&#\s]*(?i:key|token|secret|password|signature)[^=&#\s]*=)[^&#\s,;]*/#) {
                "\($0.output.1)\(mask)"
            }
    }
}

/// The settings that somebody asked for, with what is taken where they are not set. All copies of `Settings` share one.
final class AskedSettings: Sendable {
    private let keys = Mutex<[String: String]>([:])

    /// By key; empty where nobody said what is taken.
    var standards: [String: String] { keys.withLock { $0 } }

    /// - Parameter standard: nil where this question has none; another one may have.
    func note(_ key: String, default standard: String? = nil) {
        keys.withLock { keys in
            if let standard { keys[key] = standard } else { keys[key, default: ""] += "" }
        }
    }
}
