import Foundation
import ProcessKit

extension Settings {
    /// A URL without user and password, which belong in separate settings and would appear in error messages here.
    /// - Throws: `StartupProblem`, which shows no value, for an invalid URL, and for a missing one without a default.
    func mailURL(
        _ key: String, schemes: [String], default standard: String? = nil, example: String
    ) throws(StartupProblem) -> String {
        guard let url = self[key] ?? standard, let parts = URLComponents(string: url), parts.user == nil,
            parts.password == nil, schemes.contains(parts.scheme?.lowercased() ?? ""), parts.host?.isEmpty == false
        else {
            throw StartupProblem(
                "\(Self.variable(key)) must be a URL such as \(example), without a user or password in it.")
        }
        return url
    }
}
