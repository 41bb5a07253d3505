import ParseProtocol

/// The values of `email-verification`, `password-reset` and `operator-invitation`: a link with a secret that is valid
/// for some hours.
struct LinkMail {
    let values: [String: Any]

    /// Ten years; a larger value is a mistake.
    private static let hoursMax: Int64 = 87_600

    /// - Parameter model: `link`, an `http` or `https` URL; `hours`, its lifetime, 1 or more; `name` optional. Nil for
    ///   anything else.
    init?(_ model: JSON) {
        guard let link = model["link"]?.stringValue.flatMap(WebLink.init),
            let hours = model["hours"]?.intValue, (1...Self.hoursMax).contains(hours)
        else { return nil }
        var values: [String: Any] = ["link": link.url, "validity": Self.text(hours: hours)]
        if let name = model["name"]?.stringValue { values["name"] = name }
        self.values = values
    }

    private static func text(hours: Int64) -> String {
        if hours % 24 == 0, hours > 24 { return "\(hours / 24) days" }
        return hours == 1 ? "1 hour" : "\(hours) hours"
    }
}
