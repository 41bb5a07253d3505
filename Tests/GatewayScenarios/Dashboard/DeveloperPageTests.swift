import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The page for app developers (`Tests/Peers/pages/developers.py`).
@Suite(.serialized) struct DeveloperPageTests {
    private static let desk = Desk.shared

    /// Runs the snippets of curl and Python as the page shows them.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func anAppDeveloperCopiesWhatWorks(_ screen: Desk.Screen) async throws {
        _ = try await Shelf.fill(Self.desk.suite, names: ["Snippet \(Names.random(6))"])
        try await Self.desk.check("developers_start", on: screen)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func routesAreReadAndTriedInTheBrowser(_ screen: Desk.Screen) async throws {
        _ = try await Shelf.fill(Self.desk.suite, names: ["Route \(Names.random(6))"])
        try await Self.desk.check("developers_routes", on: screen)
    }
}
