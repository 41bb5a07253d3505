import CatalogService
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The bag service's query for products: their prices, and the products as the customer may see them.
@Suite struct PriceListTests {
    private let sandbox: SandboxStore
    private static let customer = Caller(userId: "u1")

    init() async throws { sandbox = try await SandboxStore(catalogPlan(.standard)) }

    private func product(_ fields: JSON = [:]) async throws -> String {
        var product: JSON = ["name": "Serum", "unitPrice": 3.5, "stock": 5, "detail": "A plain serum."]
        for (field, value) in fields.objectValue ?? [:] { product[field] = value }
        return try await sandbox.apply(.create, "Product", nil, product, as: .satchel).objectId
    }

    private func ask(_ products: [String], withProducts: Bool) async throws -> (PriceReply, [JSON]) {
        let lines = products.map { product in
            OrderLine.with {
                $0.productID = product
                $0.quantity = 1
            }
        }
        let request = PriceRequest.with {
            $0.lines = lines
            $0.withProducts = withProducts
        }
        let reply = try await sandbox.store.read {
            try PriceList(currency: .standard).price(request, caller: Self.customer, in: $0)
        }
        return (try PriceReply(serializedBytes: reply.body), try reply.documents.map { try JSON(parsing: $0) })
    }

    @Test func productsComeWithTheirPricesWhereTheyAreWanted() async throws {
        let (first, second) = (try await product(), try await product(["name": "Comb", "unitPrice": 12]))
        let (reply, products) = try await ask([first, second], withProducts: true)
        #expect(Set(reply.lines.map(\.unitPriceMinorUnits)) == [350, 1200])
        #expect(Set(reply.productIds) == [first, second])
        #expect(products.map { $0["objectId"]?.stringValue } == reply.productIds)
        #expect(products.allSatisfy { $0["detail"]?.stringValue == "A plain serum." })
    }

    @Test func aBagThatWantsPricesAloneGetsNoProducts() async throws {
        let (reply, products) = try await ask([try await product()], withProducts: false)
        #expect(reply.lines.map(\.unitPriceMinorUnits) == [350])
        #expect(reply.lines.map(\.brandID) == [""])
        let branded = try await product(["brand": .pointer("Category", "brand12345")])
        #expect(try await ask([branded], withProducts: false).0.lines.map(\.brandID) == ["brand12345"])
        #expect(reply.productIds == [])
        #expect(products == [])
    }

    /// A bag still shows a product that is no longer sold, and never a product that its owner may not see.
    @Test func whatIsNotSoldHasNoPriceAndWhatIsHiddenIsNotThere() async throws {
        let inactive = try await product(["active": false])
        let hidden = try await product(["ACL": ["role:admins": ["read": true]]])
        let (reply, products) = try await ask([inactive, hidden, "missing"], withProducts: true)
        #expect(reply.lines == [])
        #expect(reply.productIds == [inactive])
        #expect(products.map { $0["objectId"]?.stringValue } == [inactive])
    }
}
