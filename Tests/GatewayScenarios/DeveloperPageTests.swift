import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The page for app developers (`Tests/Peers/developers.py`), beside the dashboard's views and on their suite.
extension DashboardTests {
    /// The snippets of curl and Python are run as the page shows them.
    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func anAppDeveloperCopiesWhatWorks(_ screen: Screen) async throws {
        _ = try await Shelf.fill(Self.suite, names: ["Snippet \(Names.random(6))"])
        try await Self.check("developers_start", on: screen)
    }

    @Test(.timeLimit(.minutes(10)), arguments: Screen.allCases)
    func routesAreReadAndTriedInTheBrowser(_ screen: Screen) async throws {
        _ = try await Shelf.fill(Self.suite, names: ["Route \(Names.random(6))"])
        try await Self.check("developers_routes", on: screen)
    }
}
