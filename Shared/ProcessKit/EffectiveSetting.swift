import Synchronization

/// A setting in effect, for operators to inspect. Secrets are masked on creation.
public struct EffectiveSetting: Sendable, Equatable {
    /// The name of its environment variable, `SATCHEL_PORT`.
    public let name: String
    /// Its value, or the default if it is not set; empty if there is none.
    public let value: String
    /// Whether it is not set.
    public let isDefault: Bool
    /// Whether `mask` replaces its value.
    public let isSecret: Bool

    /// Replaces a secret without revealing its length.
    public static let mask = "••••••"

    /// - Parameters:
    ///   - value: nil if not set.
    ///   - standard: the default; empty if there is none or it is unknown.
    init(name: String, value: String?, standard: String) {
        self.name = name
        isDefault = value == nil
        isSecret = Self.isSecret(name)
        self.value = isSecret ? (value == nil ? "" : Self.mask) : Self.masked(value ?? standard)
    }

    /// The last word of a secret setting's name; a database's connection string contains a password. A path of a key
    /// file, such as `SATCHEL_USERS_KEY_FILE`, is not secret.
    private static let secrets: Set<Substring> = [
        "KEY", "KEYS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "TOKEN", "TOKENS", "CREDENTIALS", "DATABASE",
    ]

    static func isSecret(_ name: String) -> Bool { name.split(separator: "_").last.map(secrets.contains) ?? false }

    /// The text with passwords and keys in URLs masked. A password may have `/`, `?` and `#` unescaped, so it ends at
    /// the last `@` before a blank or the next URL.
    static func masked(_ text: String) -> String {
        text.replacing(#/(:\/\/)(?:(?!:\/\/)\S)*@/#) { "\($0.output.1)\(mask)@" }
            .replacing(#/([?&][^=&#\s]*(?i:key|token|secret|password|signature)[^=&#\s]*=)[^&#\s,;]*/#) {
                "\($0.output.1)\(mask)"
            }
    }
}

/// The settings that were read, with their defaults. All copies of `Settings` share one instance.
final class AskedSettings: Sendable {
    private let keys = Mutex<[String: String]>([:])

    /// The defaults by key; empty if unknown.
    var standards: [String: String] { keys.withLock { $0 } }

    /// - Parameter standard: nil if this read has no default; another read may have one.
    func note(_ key: String, default standard: String? = nil) {
        keys.withLock { keys in
            if let standard { keys[key] = standard } else { keys[key, default: ""] += "" }
        }
    }
}
