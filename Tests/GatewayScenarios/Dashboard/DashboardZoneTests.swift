import ParseProtocol
import TestSupport
import Testing

/// The dashboard of a shop in a time zone where it is another day than in the browser's, which is UTC.
@Suite(.serialized) struct DashboardZoneTests {
    private static let name =
        Timestamp.now.iso.dropFirst(11).prefix(2) >= "10" ? "Pacific/Kiritimati" : "Pacific/Pago_Pago"
    private static let desk = Desk(settings: ["SATCHEL_TIME_ZONE": name])

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func datesAreTheShops(_ screen: Desk.Screen) async throws {
        let zone = try #require(ShopZone(Self.name))
        let (_, orderNo) = try await Self.desk.paid()
        let found = try await Customer.admin(Self.desk.suite).find("Order", ["orderNo": orderNo]).results.first
        let madeAt = try #require(Timestamp(iso: found?.at("orderDate", "iso")?.stringValue ?? ""))
        try await Self.desk.check(
            "shop_zone", on: screen,
            [
                "order": orderNo, "date": .string(zone.date(of: madeAt)), "zone": .string(Self.name),
                "before": .string(zone.date(of: madeAt.advanced(by: .seconds(-86_400)))),
            ])
    }
}
