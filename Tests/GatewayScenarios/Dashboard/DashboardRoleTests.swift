import ParseProtocol
import TestSupport
import Testing

/// Operators of each role in the dashboard (`Tests/Peers/pages/dashboard_roles.py`): they sign in and see the views of
/// their role, and no view fails for lack of rights.
@Suite(.serialized) struct DashboardRoleTests {
    private static let desk = Desk.shared

    @Test(.timeLimit(.minutes(10)), arguments: Desk.shares, Desk.Screen.allCases)
    func eachRoleSeesItsOwnAreasWithoutARefusal(_ share: Desk.Share, _ screen: Desk.Screen) async throws {
        let member = try await Self.desk.member(of: share.role)
        let paths = try await Self.desk.paths(of: share)
        try await Self.desk.check(
            "one_role", on: screen,
            [
                "user": .string(member.email), "password": .string(member.password),
                "entries": .array(share.entries.map(JSON.string)), "cards": .array(share.cards.map(JSON.string)),
                "paths": .array(paths.map(JSON.string)), "foreign": .string(share.foreign),
            ])
    }

    /// After an operator is removed from a role, the next request reports it. A new member of a role sees its views.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aRoleThatIsTakenAwayEndsTheSession(_ screen: Desk.Screen) async throws {
        let member = try await Self.desk.member(of: "order-desk")
        let master = ParseClient.master(try await Self.desk.suite)
        let role = try #require(try await master.find("_Role", ["name": "order-desk"]).results.first)
        try await Self.desk.check(
            "role_taken_away", on: screen,
            [
                "user": .string(member.email), "password": .string(member.password),
                "role": .string(role.text("objectId")), "userId": .string(member.userId),
                "masterKey": .string(Suite.masterKey),
            ])
    }
}
