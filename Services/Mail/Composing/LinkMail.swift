import Foundation
import ParseProtocol
import ProcessKit

/// The values of `email-verification`, `password-reset` and `operator-invitation`: a link with a secret that is valid
/// for some hours.
struct LinkMail {
    let values: [String: Any]

    /// Ten years; a larger value is a mistake.
    private static let hoursMax: Int64 = 87_600

    /// - Parameter model: `link`, an `http` or `https` URL; `hours`, its lifetime, 1 or more; `name` optional. Nil for
    ///   anything else.
    init?(_ model: JSON, _ language: ShopLanguage) {
        guard let link = model["link"]?.stringValue.flatMap(WebLink.init),
            let hours = model["hours"]?.intValue, (1...Self.hoursMax).contains(hours)
        else { return nil }
        var values: [String: Any] = ["link": link.url, "validity": language.duration(hours: hours)]
        if let name = model["name"]?.stringValue { values["name"] = name }
        self.values = values
    }

    /// Replaces path, query and fragment of the link with `/...`, because the link opens an account.
    static func withoutSecret(_ model: JSON) -> JSON {
        var model = model
        var parts = model["link"]?.stringValue.flatMap { URLComponents(string: $0) }
        parts?.path = "/..."
        parts?.query = nil
        parts?.fragment = nil
        model["link"] = parts?.string.map(JSON.string)
        return model
    }
}
