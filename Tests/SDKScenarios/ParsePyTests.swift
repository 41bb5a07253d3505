import Foundation
import ParseProtocol
import TestSupport
import Testing

/// ParsePy 0.3 from PyPI, unmodified. Its requests to the hosted service are redirected to the suite.
@Suite struct ParsePyTests {
    private static func run(_ what: String) async throws -> JSON {
        var report = JSON.null
        // Its tests sign up with the password 12345, which the hosted service accepted.
        let settings = ["SATCHEL_REST_KEY": "python-rest", "SATCHEL_PASSWORD_LENGTH_MIN": "5"]
        try await Suite.with(settings: settings) { suite in
            let port = try #require(URLComponents(string: suite.url)?.port)
            let text = try await Command.run([
                Peer.python, "\(checkoutDirectory)/Tests/Peers/clients/parsepy.py", "\(port)", "satchel", "python-rest",
                Suite.masterKey, what,
            ])
            report = try JSON(parsing: text.split(separator: "\n").last.map(String.init) ?? "")
        }
        return report
    }

    /// All tests of the package except those of cloud code, which it deploys with a tool of the hosted service.
    @Test(.timeLimit(.minutes(10)))
    func itsOwnTestsPass() async throws {
        let report = try await Self.run("own")
        #expect(report["failures"] == [], "\(report.serializedText)")
        #expect(report["tests"]?.intValue ?? 0 >= 36, "\(report)")
        #expect(report["requests"]?.intValue ?? 0 >= 100, "\(report)")
        #expect(report["root"] == "https://api.parse.com/1")
    }

    /// Objects, queries, batches, users, roles, files, functions, installations and pushes, Config and dropping a
    /// class.
    @Test(.timeLimit(.minutes(10)))
    func theFlowsOfAnAppWork() async throws {
        let report = try await Self.run("flows")
        #expect(report["failures"] == [], "\(report.serializedText)")
        #expect(report["tests"] == 9)
    }
}
