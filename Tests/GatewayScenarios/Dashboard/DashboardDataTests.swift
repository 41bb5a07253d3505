import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The statistics, and the rows of any class.
@Suite(.serialized) struct DashboardDataTests {
    private static let desk = Desk()

    /// Text that an app reports may look like a formula. In a spreadsheet file it must remain text.
    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.desk])
    func figuresAreComparedBrokenDownAndTakenAlong(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let (_, orderNo) = try await Self.desk.paid()
        let admin = try await Customer.admin(suite)
        let orders = try await admin.find("Order", ["orderNo": orderNo], ["include": "items"]).results
        let product = try #require(orders.first?.at("items", 0, "name")?.stringValue)
        let event = "Look\(Names.random(6))"
        let formula = "=1+1"
        for _ in 0..<3 {
            let told = try await ParseClient(suite).call(
                .POST, "/events/\(event)", ["dimensions": ["word": .string(formula)]])
            try #require(told.status == 200, "\(told.text)")
        }
        try await Self.desk.comeBack()
        try await eventually("the events are counted") {
            let top = try await admin.run("analyticsTop", ["name": .string(event), "dimension": "word"])
            return top.result.at(0, "count") == 3
        }
        try await eventually("the sale is counted") {
            try await admin.run("analyticsSales").result.at(0, "totals", "orders")?.intValue ?? 0 > 0
        }
        try await Self.desk.check(
            "analytics", on: screen,
            [
                "product": .string(product), "amount": "$7.00", "event": .string(event), "events": 3,
                "formula": .string(formula),
            ])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [Desk.Screen.phone])
    func rowsOfEveryTypeAreFoundEditedAddedAndDeleted(_ screen: Desk.Screen) async throws {
        let suite = try await Self.desk.suite
        let name = try await Self.desk.makeClass()
        let owners = [
            try await Shelf.fill(suite, names: ["Row \(Names.random(6))"]),
            try await Shelf.fill(suite, names: ["Row \(Names.random(6))"]),
        ]
        try await Self.desk.fill(name, rows: 250, owner: owners[0].brandId)
        try await Self.desk.check(
            "data", on: screen,
            [
                "class": .string(name), "rows": 250, "script": .string(Desk.script), "owner": .string(owners[1].title),
            ])
        let admin = try await Customer.admin(suite)
        let edited = try #require(try await admin.find(name, ["count": 0.5]).results.first)
        #expect(edited["text"] == "row 0 & <b>co</b>")
        #expect(edited["flag"] == false)
        #expect(edited["when"]?.wireType == "Date")
        #expect(edited["when"]?["iso"]?.stringValue?.hasPrefix("2031-02-0") == true, "\(edited)")
        #expect(edited["place"]?["latitude"] == 1.5)
        #expect(edited["tags"] == ["a", 7])
        #expect(edited["more"] == ["deep": ["er": true]])
        #expect(edited["owner"]?.pointerTarget?.objectId == owners[1].brandId)
        #expect(edited["ACL"]?["role:admins"] == ["read": true, "write": true])
        let added = try await admin.find(name, ["count": -1]).results
        #expect(added.map { $0["text"] } == ["=2+2 added"])
        #expect(added.first?["fresh"] == ["new column"])
        let gone = try await admin.find(name, ["text": "row 1"]).results
        #expect(gone.isEmpty)
    }
}
