import ParseProtocol
import TestSupport
import Testing

/// The team in the dashboard (`Tests/Peers/pages/dashboard_team.py`).
@Suite(.serialized) struct DashboardTeamTests {
    private static let desk = Desk(settings: ["SATCHEL_MFA": "off"])

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func anAdminInvitesAndRevokes(_ screen: Desk.Screen) async throws {
        let address = Invitations.address()
        try await Self.desk.check("inviting", on: screen, ["address": .string(address)])
        _ = try await Invitations.tokens(to: address, atLeast: 2, in: Self.desk.suite)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func anInvitedPersonJoinsAndChangesThePassword(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let address = Invitations.address()
        try await Invitations.invite(address, into: "order-desk", by: ParseClient.master(suite))
        let token = try await Invitations.tokens(to: address, in: suite)[0]
        try await Self.desk.check(
            "joining", on: screen, ["address": .string(address), "token": .string(token)])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func aForgottenPasswordIsReplacedByMail(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let customer = try await Customer.signUp(suite)
        try await Self.desk.check("forgotten", on: screen, ["address": .string(customer.email)])
        let link = try await MailedLink.newest("request_password_reset", to: customer.email, in: suite)
        #expect(try await link.open().status == 200)
    }
}
