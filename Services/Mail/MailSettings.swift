import Foundation
import ProcessKit

extension Settings {
    /// A URL without user and password, which belong into settings of their own and would come into error messages
    /// here.
    /// - Throws: `StartupProblem`, which shows no value, for one of another kind, and for none where there is no
    ///   standard.
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
