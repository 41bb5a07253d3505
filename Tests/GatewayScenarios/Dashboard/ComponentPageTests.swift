import ParseProtocol
import TestSupport
import Testing

/// The elements for any site and their page (`Tests/Peers/pages/components.py`). The first flow fills the shop.
@Suite(.serialized) struct ComponentPageTests {
    private static let desk = Desk()

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func tablesAreUsedByKeyboardAndTouch(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("components_tables", on: screen)
    }

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func accountsPicturesAndDownloads(_ screen: Desk.Screen) async throws {
        try await Self.desk.check(
            "components_accounts", on: screen,
            ["email": .string("\(Names.random(10).lowercased())@customers.example")])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aPageOfAnotherOriginUsesThem(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("components_elsewhere", on: screen)
    }
}
