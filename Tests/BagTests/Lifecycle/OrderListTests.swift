import BagService
import ParseProtocol
import TestSupport
import Testing

/// An admin's list of orders.
@Suite struct OrderListTests {
    @Test func adminsListMadeOrdersWithLinesNewestFirst() async throws {
        let (bag, first) = try await BagStore.paid()
        let (second, _) = try await bag.bag(of: "u2")
        try await CheckoutLedgerTests.make(try await bag.start(by: "u2"), in: bag)
        _ = try await bag.bag(of: "u3")
        _ = try await bag.perform(.ship(Shipment()), first)
        func list(_ parameters: JSON) async throws -> OrderList.Page {
            let list = try OrderList(parameters)
            return try await bag.store.read { try list.read(in: $0) }
        }
        // First from the class, then from the entries.
        for hasEntries in [false, true] {
            if hasEntries { #expect(try await bag.store.write { try OrderEntries.addNext(in: $0) } == false) }
            let all = try await list([:])
            #expect(all.orders.map(\.objectId) == [second, first])
            #expect(all.count == 2)
            try #require(all.orders.count == 2)
            #expect(all.orders[1].at("items", 0, "name") == "Soap")
            #expect(try await list(["status": 2]).orders.map(\.objectId) == [first])
            #expect(try await list(["limit": 1, "skip": 1]).orders.map(\.objectId) == [first])
            #expect(try await list(["sort": "orderDate"]).orders.map(\.objectId) == [first, second])
            #expect(try await list(["to": "2020-01-01T00:00:00.000Z"]).count == 0)
            #expect(try await list(["from": "2020-01-01T00:00:00.000Z"]).count == 2)
            let shown = OrderList.json(all, contacts: ["u2": ["email": "b@shop.example"]])
            #expect(shown.at("results", 0, "contact", "email") == "b@shop.example")
            #expect(shown.at("results", 1, "contact") == .null)
        }
    }

    @Test(
        arguments: [
            ["status": 0], ["status": 7], ["status": "lost"], ["status": "open"], ["from": "yesterday"], ["to": 5],
            ["limit": 0],
            ["skip": -1],
            ["skip": 1.5],
        ] as [JSON])
    func badListParametersAreRefused(parameters: JSON) {
        #expect(throws: ParseError.self) { try OrderList(parameters) }
    }

    @Test func adminsListOrdersByStateOrItsOldNumber() async throws {
        let (bag, shipped) = try await BagStore.paid()
        _ = try await bag.perform(.ship(Shipment()), shipped)
        let imported: JSON = ["orderNo": 7, "orderStatus": 1]
        let made = try await bag.save(.create, "Order", nil, imported, as: .with { $0.master = true }).objectId
        _ = try await bag.store.write { try OrderEntries.addNext(in: $0) }
        for (status, expected) in [("shipped", shipped), (2, shipped), ("made", made), (1, made)] as [(JSON, String)] {
            let list = try OrderList(["status": status])
            let found = try await bag.store.read { try list.read(in: $0) }
            #expect(found.orders.map(\.objectId) == [expected], "\(status)")
            #expect(found.count == 1, "\(status)")
        }
    }
}
