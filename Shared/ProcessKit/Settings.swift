import Foundation

/// The settings of a process, which are environment variables: the one place where they are read and checked.
///
/// A setting is asked for by a key: `satchel.some.name` is the variable `SATCHEL_SOME_NAME`. An empty variable counts
/// as not set, since that is how container engines pass variables that nobody set. A value that cannot work ends the
/// start: nothing is put in its place.
public struct Settings: Sendable {
    private let variables: [String: String]
    private let asked = AskedSettings()

    /// The environment of this process.
    public static let environment = Settings(ProcessInfo.processInfo.environment)

    /// - Parameter variables: by name.
    public init(_ variables: [String: String]) { self.variables = variables.filter { !$0.value.isEmpty } }

    /// The environment of a program that this process starts for others, as `NAME=value`: everything but the settings,
    /// among which are secrets, and the process manager's own.
    public var environmentOfPrograms: [String] {
        variables.filter { !$0.key.hasPrefix("SATCHEL_") && !$0.key.hasPrefix("SUPERVISOR_") }
            .map { "\($0.key)=\($0.value)" }.sorted()
    }

    /// The text of a setting; nil when it is not set.
    public subscript(key: String) -> String? {
        asked.note(key)
        return variables[Self.variable(key)]
    }

    /// Every setting that was asked for so far, by name: what this process runs with, to be shown to operators. No
    /// secret is in it.
    public var inForce: [SettingInForce] {
        asked.standards.map { key, standard in
            SettingInForce(name: Self.variable(key), value: variables[Self.variable(key)], standard: standard)
        }.sorted { $0.name < $1.name }
    }

    /// The text of a setting, or `standard` when it is not set.
    public func text(_ key: String, default standard: String) -> String {
        asked.note(key, default: standard)
        return self[key] ?? standard
    }

    /// The parts of a text between commas, without spaces; none when it is not set.
    public func list(_ key: String) -> [String] {
        (self[key] ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace } }.filter { !$0.isEmpty }
    }

    /// - Throws: `StartupProblem` for what is no whole number of the range.
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

    /// `true`, `yes` and `1`, or `false`, `no` and `0`, in any letter case.
    /// - Throws: `StartupProblem` for anything else.
    public func flag(_ key: String, default standard: Bool) throws(StartupProblem) -> Bool {
        asked.note(key, default: "\(standard)")
        switch self[key]?.lowercased() {
        case nil: return standard
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw wrong(key, "must be true or false.")
        }
    }

    /// - Throws: `StartupProblem` for what is none of the type's texts.
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

    /// The problem of a setting with a wrong value. Not for secrets: the value is in it.
    public func wrong(_ key: String, _ what: String) -> StartupProblem {
        StartupProblem("\(Self.variable(key))=\(self[key] ?? "") \(what)")
    }

    /// The name of a setting's variable.
    public static func variable(_ key: String) -> String { key.uppercased().replacing(".", with: "_") }
}
