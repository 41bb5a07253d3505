import ProcessKit

/// The connections that cloud code may open itself (`SATCHEL_CLOUD_NETWORK`).
package enum CodeNetwork: Sendable, Equatable {
    case on
    case off
    /// Connections to the listed hosts, through `CodeProxy`.
    case list(AllowedHosts)

    private static let key = "satchel.cloud.network"

    /// - Throws: `StartupProblem` for a value other than `on`, `off` or a list of hosts.
    package init(_ settings: Settings) throws(StartupProblem) {
        switch settings[Self.key] {
        case nil, "on": self = .on
        case "off": self = .off
        default:
            guard let hosts = AllowedHosts(settings.list(Self.key)) else {
                throw settings.wrong(
                    Self.key, "must be on, off or hosts, such as api.stripe.com,*.example.org,10.0.0.5:8080.")
            }
            self = .list(hosts)
        }
    }
}
