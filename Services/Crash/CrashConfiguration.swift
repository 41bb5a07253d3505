import Configuration
import Foundation
import ServiceKit

/// The crash service's settings; README's table lists them.
struct CrashConfiguration: Sendable {
    /// Reports a key may send in a minute; an app in a crash loop must not crowd out the others.
    let reportsPerMinute: Int
    /// Where SDKs find the gateway: scheme, and host with port.
    private let scheme: String
    private let authority: String

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: `Problem` that names a setting which cannot work.
    init(_ configuration: ServiceConfiguration) throws {
        let reader = configuration.reader
        reportsPerMinute = reader.int(forKey: "satchel.crash.reports.per.minute", default: 1000)
        guard reportsPerMinute > 0 else {
            throw Problem(description: "SATCHEL_CRASH_REPORTS_PER_MINUTE must be at least 1.")
        }
        let host = reader.string(forKey: "satchel.host", default: "127.0.0.1")
        let own =
            "http://\(host.contains(":") ? "[\(host)]" : host):\(reader.int(forKey: "satchel.port", default: 1337))"
        let text = reader.string(forKey: "satchel.public.url", default: own)
        guard let url = URLComponents(string: text.isEmpty ? own : text), let scheme = url.scheme, let name = url.host,
            !name.isEmpty
        else { throw Problem(description: "SATCHEL_PUBLIC_URL is not a URL.") }
        self.scheme = scheme
        authority = name + (url.port.map { ":\($0)" } ?? "")
    }

    /// What is put into an app: the address and the key of a project.
    @Sendable func dsn(key: String, projectId: String) -> String { "\(scheme)://\(key)@\(authority)/\(projectId)" }
}
