import Configuration
import Foundation

/// Reads settings; an empty one is not set.
struct MailSettings {
    let reader: ConfigReader

    subscript(key: String) -> String? {
        reader.string(forKey: ConfigKey(key)).flatMap { $0.isEmpty ? nil : $0 }
    }

    func number(_ key: String, _ range: ClosedRange<Int>, default value: Int) throws(MailConfiguration.Problem) -> Int {
        guard let text = self[key] else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw MailConfiguration.Problem(
                description:
                    "\(name(key))=\(text) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A URL without user and password, which belong into settings of their own and would come into error messages here.
    func url(
        _ key: String, schemes: [String], default value: String? = nil, example: String
    ) throws(MailConfiguration.Problem) -> String {
        guard let url = self[key] ?? value, let parts = URLComponents(string: url), parts.user == nil,
            parts.password == nil, schemes.contains(parts.scheme?.lowercased() ?? ""), parts.host?.isEmpty == false
        else {
            throw MailConfiguration.Problem(
                description: "\(name(key)) must be a URL such as \(example), without a user or password in it.")
        }
        return url
    }

    private func name(_ key: String) -> String { key.uppercased().replacing(".", with: "_") }
}
