import BagService
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The origins of placed orders that no checkout placed.
@Suite struct OrderOriginsTests {
    private static func origins(_ bag: BagStore) async throws -> [String: String] {
        let rows = try await bag.store.read { try $0.rows("SELECT orderId, origin FROM orderOrigins", []) }
        return try Dictionary(uniqueKeysWithValues: rows.map { try ($0.text("orderId"), $0.text("origin")) })
    }

    @Test func placedOrdersWithoutACheckoutAreMarked() async throws {
        let bag = try await BagStore()
        let (bought, _) = try await bag.bag(of: "u1")
        try await CheckoutLedgerTests.make(try await bag.start([:], by: "u1"), in: bag)
        let placed: JSON = ["orderNo": 7, "orderStatus": 1, "total": 1000]
        let code = try await bag.save(.create, "Order", nil, placed, as: .satchel).objectId
        let open = try await bag.save(.create, "Order", nil, ["orderStatus": 0], as: .satchel).objectId
        #expect(try await Self.origins(bag) == [code: "code"])
        try await bag.save(.update, "Order", open, ["orderStatus": 1], as: .satchel)
        try await bag.save(.update, "Order", bought, ["note": "Paid by a checkout."], as: .satchel)
        #expect(try await Self.origins(bag) == [code: "code", open: "code"])
        try await bag.store.write {
            try $0.execute("DELETE FROM orderOrigins")
            for _ in 0..<2 { try OrderOrigins.noteEarlier(in: $0) }
        }
        #expect(try await Self.origins(bag) == [code: "earlier", open: "earlier"])
        try await bag.save(.delete, "Order", code, [:], as: .satchel)
        #expect(try await Self.origins(bag) == [open: "earlier"])
    }
}
