import CatalogService
import Messages
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The stock of cancelled orders is returned once.
@Suite struct RestockTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(catalogPlan(.standard)) }

    private func product(_ stock: JSON) async throws -> String {
        let product: JSON = ["name": "Serum", "unitPrice": 3.5, "stock": stock]
        return try await sandbox.apply(.create, "Product", nil, product, as: .satchel).objectId
    }

    private func restock(
        _ lines: [(String, UInt32)], id: String = "order:o1", reservation: String = "", isPart: Bool = false
    ) async throws {
        let message = RestockRequest.with { message in
            message.restockID = id
            message.reservationID = reservation
            message.isPart = isPart
            message.lines = lines.map { line in
                .with {
                    $0.productID = line.0
                    $0.quantity = line.1
                }
            }
        }
        try await sandbox.store.write { try Restocks.add(message, in: $0) }
    }

    private func stock(_ id: String) async throws -> Int64? {
        try await sandbox.document("Product", id)["stock"]?.intValue
    }

    @Test func goodsComeBackOncePerId() async throws {
        let (soap, comb) = (try await product(5), try await product(0))
        try await restock([(soap, 2), (comb, 1), (soap, 1)])
        try await restock([(soap, 2), (comb, 1), (soap, 1)])
        #expect(try await stock(soap) == 8)
        #expect(try await stock(comb) == 1)
        try await restock([(soap, 1)], id: "order:o2")
        #expect(try await stock(soap) == 9)
    }

    /// However an order is divided, no more returns than its reservation took.
    @Test func partsOfAnOrderReturnWhatItTook() async throws {
        let (soap, comb) = (try await product(5), try await product(0))
        try await sandbox.store.write { transaction in
            try transaction.execute(
                "INSERT INTO reservations(id, state, expiresAt, changedAt) VALUES ('r1', 'committed', 0, 0)")
            for (product, taken) in [(soap, 3), (comb, 1)] as [(String, Int64)] {
                try transaction.execute(
                    """
                    INSERT INTO reservationLines(reservationId, line, productId, quantity, unitPriceMinorUnits, name, \
                    taken) VALUES ('r1', ?, ?, ?, 350, 'Serum', ?)
                    """, [.int(taken), .text(product), .int(taken), .int(taken)])
            }
        }
        try await restock([(soap, 1)], id: "order:o1:a", reservation: "r1", isPart: true)
        #expect(try await stock(soap) == 6)
        try await restock([(soap, 9)], id: "order:o1:b", reservation: "r1", isPart: true)
        #expect(try await stock(soap) == 8)
        try await restock([(soap, 3), (comb, 1)], id: "order:o1", reservation: "r1")
        #expect(try await stock(soap) == 8)
        #expect(try await stock(comb) == 1)
    }

    @Test func whatIsNotCountedOrGoneIsPassedOver() async throws {
        let (soap, free) = (try await product(5), try await product(.null))
        try await restock([("missing", 2), (free, 3), (soap, 1)])
        #expect(try await stock(soap) == 6)
        #expect(try await stock(free) == nil)
    }

    @Test(arguments: [("", 1, 1), ("r", 0, 1), ("r", 201, 1), ("r", 1, 0), ("r", 1, 1000)] as [(String, Int, UInt32)])
    func boundsAreChecked(id: String, lines: Int, quantity: UInt32) async throws {
        let soap = try await product(5)
        let error = await parseError { try await restock(Array(repeating: (soap, quantity), count: lines), id: id) }
        #expect(error?.code == .validationError)
        #expect(try await stock(soap) == 5)
    }
}
