import Foundation
import ParseProtocol
import ProcessKit

/// The settings of the crash service (docs/reference/settings.md).
struct CrashConfiguration: Sendable {
    /// Rate limit of a key in reports per minute; an app in a crash loop must not crowd out others.
    let reportsPerMinute: Int
    /// The gateway's address for SDKs: scheme, and host with port.
    private let scheme: String
    private let authority: String

    /// - Throws: `StartupProblem`.
    init(_ settings: Settings) throws(StartupProblem) {
        reportsPerMinute = try settings.number("satchel.crash.reports.per.minute", 1...10_000_000, default: 1000)
        guard let url = URLComponents(string: PublicURL { settings[$0] }.text), let scheme = url.scheme,
            let name = url.host, !name.isEmpty
        else { throw StartupProblem("SATCHEL_PUBLIC_URL is not a URL.") }
        self.scheme = scheme
        authority = name + (url.port.map { ":\($0)" } ?? "")
    }

    /// The DSN to configure in an app: the address and key of a project.
    @Sendable func dsn(key: String, projectId: String) -> String { "\(scheme)://\(key)@\(authority)/\(projectId)" }
}
