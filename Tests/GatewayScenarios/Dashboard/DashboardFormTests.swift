import ParseProtocol
import TestSupport
import Testing

/// Forms of the dashboard, the checklist of a new shop, and pages without a connection
/// (`Tests/Peers/pages/dashboard_forms.py`).
@Suite(.serialized) struct DashboardFormTests {
    private static let desk = Desk()

    @Test(.timeLimit(.minutes(10)), arguments: Desk.Screen.allCases)
    func whatIsTypedIsNotLostWithoutAQuestion(_ screen: Desk.Screen) async throws {
        let name = "Typed \(Names.random(6))"
        let shelf = try await Shelf.fill(try await Self.desk.suite, names: [name])
        try await Self.desk.check("typed", on: screen, ["name": .string(name)])
        let product = try await Customer.admin(Self.desk.suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["name"] == .string(name))
        #expect(product["active"] != false)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func anEndedSessionAsksOverThePageAndTheRequestIsRepeated(_ screen: Desk.Screen) async throws {
        let name = "Kept \(Names.random(6))"
        let shelf = try await Shelf.fill(try await Self.desk.suite, names: [name])
        let other = try await Self.desk.member(of: "admins")
        let pair: JSON = ["user": .string(other.email), "password": .string(other.password)]
        try await Self.desk.check(
            "session_over_a_form", on: screen,
            ["product": .string(shelf.productIds[0]), "name": .string(name), "other": pair])
        let product = try await Customer.admin(Self.desk.suite).get("/classes/Product/\(shelf.productIds[0])")
        #expect(product["name"] == .string(name))
        #expect(product["unitPrice"] == 7.25)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func aNewShopIsToldWhatIsLeftToDo(_ screen: Desk.Screen) async throws {
        let products = try await Customer.admin(Self.desk.suite).find("Product", [:], ["limit": 1]).results
        try await Self.desk.check("new_shop", on: screen, ["hasProducts": .bool(!products.isEmpty)])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func withoutAConnectionThePageSaysSo(_ screen: Desk.Screen) async throws {
        try await Self.desk.check("no_connection", on: screen)
    }

    /// The first view asks for few settings: all of them would be most of its transferred size.
    @Test func someSettingsAreAskedForByName() async throws {
        let admin = try await Customer.admin(Self.desk.suite)
        let names = "SATCHEL_MAIL,SATCHEL_PAYMENTS"
        let answer = try await admin.get("/operations/settings", ["names": .string(names)]).json
        let processes = answer["processes"]?.arrayValue ?? []
        let settings = processes.flatMap { $0["settings"]?.arrayValue ?? [] }
        #expect(Set(settings.map { $0.text("name") }) == ["SATCHEL_MAIL", "SATCHEL_PAYMENTS"])
        #expect(processes.contains { $0["settings"] == [] })
    }

    @Test func onlyAdminsAreToldHowManyOperatorsThereAre() async throws {
        let admin = try await Customer.admin(Self.desk.suite)
        let before = try #require(try await admin.run("myAreas").result["operators"]?.intValue)
        let member = try await Self.desk.member(of: "support")
        #expect(try await admin.run("myAreas").result["operators"] == .int(before + 1))
        #expect(try await member.client.run("myAreas").result["operators"] == nil)
    }
}
