import ParseProtocol
import TestSupport
import Testing

/// A shop in a time zone where today is another day than in UTC: figures, mails and pages have the shop's days.
@Suite struct TimeZoneTests {
    /// The easternmost zone, or a western one, whichever has another date than UTC now.
    private static var name: String {
        Timestamp.now.iso.dropFirst(11).prefix(2) >= "10" ? "Pacific/Kiritimati" : "Pacific/Pago_Pago"
    }

    @Test func daysAreTheShops() async throws {
        try await untilDayIsNotEnding()
        let name = Self.name
        let zone = try #require(ShopZone(name))
        try await Suite.with(settings: ["SATCHEL_TIME_ZONE": name]) { suite in
            let admin = try await Customer.admin(suite)
            let today = zone.day(of: .now)
            let start = zone.start(ofDay: today)
            #expect(zone.date(of: .now) != String(Timestamp.now.iso.prefix(10)))

            let shelf = try await Shelf.fill(suite, names: ["Soap"], prices: [3.5])
            let customer = try await Customer.signUp(suite)
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let payment: JSON = [
                "tokenId": "tok_visa", "idempotencyKey": "zone-1", "shippingAddress": Customer.address,
            ]
            let bought = try await customer.client.run("checkout", payment)
            #expect(bought.result["orderNo"] != nil, "\(bought.text)")
            try await eventually("the sale is of the shop's day") {
                let sales = try await admin.run("analyticsSales", ["from": start.wire]).result.arrayValue?.first
                let points = sales?["points"]?.arrayValue ?? []
                return points.first?["at"] == start.wire && points.reduce(0) { $0 + ($1["orders"]?.intValue ?? 0) } == 1
            }
            let madeAt = bought.result.at("orderDate", "iso")?.stringValue ?? ""
            let parts = zone.date(of: try #require(Timestamp(iso: madeAt), "\(bought.text)")).split(separator: "-")
            let months = [
                "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                "November", "December",
            ]
            let date = "\(Int(parts[2]) ?? 0) \(months[(Int(parts[1]) ?? 1) - 1]) \(parts[0])"
            try await eventually("the mail has the shop's date", within: .seconds(20)) {
                suite.mails().contains { $0.source.contains(customer.email) && $0.text.contains("placed on \(date)") }
            }

            let event = "Look\(Names.random(6))"
            for at in [start.advanced(by: .milliseconds(-1)), start] {
                let answer = try await customer.client.call(.POST, "/events/\(event)", ["at": at.wire])
                #expect(answer.status == 200, "\(answer.text)")
            }
            let parameters: JSON = [
                "metric": .string("event:\(event)"), "from": zone.start(ofDay: today - 1).wire,
                "to": zone.start(ofDay: today + 1).wire,
            ]
            let points = try await admin.run("analyticsSeries", parameters).result["points"]?.arrayValue ?? []
            #expect(points.map { $0["value"] } == [1, 1])
            #expect(points.map { $0["at"] } == [zone.start(ofDay: today - 1).wire, start.wire])

            var pages = ParseClient(suite)
            pages.url = suite.origin
            let page = try await pages.send(.GET, "/dashboard")
            #expect(page.text.contains("<meta name=\"satchel-time-zone\" content=\"\(name)\">"), "\(page.text)")
        }
    }
}
