import Foundation
import ParseProtocol
import ProcessKit

/// The crash service's settings; README's table lists them.
struct CrashConfiguration: Sendable {
    /// Reports a key may send in a minute; an app in a crash loop must not crowd out the others.
    let reportsPerMinute: Int
    /// The address at which SDKs find the gateway: scheme, and host with port.
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

    /// The DSN that is put into an app: the address and the key of a project.
    @Sendable func dsn(key: String, projectId: String) -> String { "\(scheme)://\(key)@\(authority)/\(projectId)" }
}
