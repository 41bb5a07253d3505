import Foundation

/// The settings of a process, from environment variables. They are read and validated only here.
///
/// The key `satchel.some.name` stands for the variable `SATCHEL_SOME_NAME`. An empty variable counts as not set,
/// because container engines pass unset variables as empty ones. An invalid value aborts startup; no default replaces
/// it.
public struct Settings: Sendable {
    private let variables: [String: String]
    private let asked = AskedSettings()

    /// The environment of this process.
    public static let environment = Settings(ProcessInfo.processInfo.environment)

    /// - Parameter variables: values by name.
    public init(_ variables: [String: String]) { self.variables = variables.filter { !$0.value.isEmpty } }

    /// The variables with these names as `NAME=value`: the environment for a program that runs foreign code.
    public func environment(passing names: Set<String>) -> [String] {
        variables.filter { names.contains($0.key) }.map { "\($0.key)=\($0.value)" }.sorted()
    }

    /// The names of the variables that `environment(passing:)` omits.
    public func variables(withheldBy names: Set<String>) -> Set<String> { Set(variables.keys).subtracting(names) }

    /// The value of a setting; nil if not set.
    public subscript(key: String) -> String? {
        asked.note(key)
        return variables[Self.variable(key)]
    }

    /// All settings read so far, by name, for display to operators. Secrets are masked.
    public var inForce: [EffectiveSetting] {
        asked.standards.map { key, standard in
            EffectiveSetting(name: Self.variable(key), value: variables[Self.variable(key)], standard: standard)
        }.sorted { $0.name < $1.name }
    }

    /// The value of a setting, or `standard` if not set.
    public func text(_ key: String, default standard: String) -> String {
        asked.note(key, default: standard)
        return self[key] ?? standard
    }

    /// The comma-separated parts of a value, without spaces; empty if not set.
    public func list(_ key: String) -> [String] {
        (self[key] ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace } }.filter { !$0.isEmpty }
    }

    /// - Throws: `StartupProblem` unless the value is a whole number in the range.
    public func number(
        _ key: String, _ range: ClosedRange<Int>, default standard: Int
    ) throws(StartupProblem) -> Int {
        asked.note(key, default: "\(standard)")
        guard let text = self[key] else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw wrong(key, "must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// `true`, `yes` and `1`, or `false`, `no` and `0`, case-insensitive.
    /// - Throws: `StartupProblem` for any other value.
    public func flag(_ key: String, default standard: Bool) throws(StartupProblem) -> Bool {
        asked.note(key, default: "\(standard)")
        switch self[key]?.lowercased() {
        case nil: return standard
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw wrong(key, "must be true or false.")
        }
    }

    /// - Throws: `StartupProblem` unless the value is a raw value of the type.
    public func choice<Value: RawRepresentable & CaseIterable>(
        _ key: String, default standard: Value
    ) throws(StartupProblem) -> Value where Value.RawValue == String {
        asked.note(key, default: standard.rawValue)
        guard let text = self[key] else { return standard }
        guard let value = Value(rawValue: text) else {
            let names = Value.allCases.map(\.rawValue)
            let all = [names.dropLast().joined(separator: ", "), names.last ?? ""].filter { !$0.isEmpty }
            throw wrong(key, "must be \(all.joined(separator: " or ")).")
        }
        return value
    }

    /// The problem for a setting with a wrong value. Not for secrets, because it contains the value.
    public func wrong(_ key: String, _ what: String) -> StartupProblem {
        StartupProblem("\(Self.variable(key))=\(self[key] ?? "") \(what)")
    }

    /// The name of a setting's environment variable.
    public static func variable(_ key: String) -> String {
        // `replacing` takes 18,000 instructions.
        String(decoding: key.uppercased().utf8.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
    }
}
