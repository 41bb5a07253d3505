import CatalogService
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Stock is never sold twice and never lost, in any order of messages.
@Suite struct PriceReservationTests {
    private let sandbox: SandboxStore
    private let reservations: Reservations

    init() async throws {
        sandbox = try await SandboxStore(catalogPlan(.standard))
        reservations = Reservations(currency: .standard, logger: Logger(label: "test"))
    }

    private func product(_ fields: JSON = [:]) async throws -> String {
        var product: JSON = ["name": "Serum", "unitPrice": 3.5, "stock": 5]
        for (field, value) in fields.objectValue ?? [:] { product[field] = value }
        return try await sandbox.apply(.create, "Product", nil, product, as: .satchel).objectId
    }

    private func stock(_ id: String) async throws -> Int64? {
        try await sandbox.document("Product", id)["stock"]?.intValue
    }

    @discardableResult
    private func reserve(_ lines: [(String, UInt32)], id: String = "r1") async throws -> ReserveReply {
        let request = ReserveRequest.with { request in
            request.reservationID = id
            request.lifetimeSeconds = 60
            request.lines = lines.map { line in
                .with {
                    $0.productID = line.0
                    $0.quantity = line.1
                }
            }
        }
        return try await sandbox.store.write { try reservations.reserve(request, caller: .master, in: $0) }
    }

    private func commit(_ id: String = "r1") async throws {
        try await sandbox.store.write { try reservations.commit(id, in: $0) }
    }

    private func release(_ id: String = "r1") async throws {
        try await sandbox.store.write { try reservations.release(id, in: $0) }
    }

    private func expire(_ id: String = "r1") async throws {
        try await sandbox.store.write {
            try $0.execute("UPDATE reservations SET expiresAt = 0 WHERE id = ?", [.text(id)])
            _ = try reservations.expire(in: $0)
        }
    }

    @Test func reservingTakesStockOnceAndKeepsThePrices() async throws {
        let id = try await product()
        let first = try await reserve([(id, 2)])
        #expect(first.lines.map(\.unitPriceMinorUnits) == [350])
        #expect(first.currency == "usd")
        try await sandbox.apply(.update, "Product", id, ["unitPrice": 9], as: .satchel)
        #expect(try await reserve([(id, 2)]) == first)
        #expect(try await stock(id) == 3)
        try await commit()
        try await commit()
        #expect(try await stock(id) == 3)
        #expect(try await reserve([(id, 2)]) == first)
    }

    @Test func askingAgainExtendsAReservation() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        try await sandbox.store.write { _ = try $0.execute("UPDATE reservations SET expiresAt = 5") }
        try await reserve([(id, 2)])
        #expect(try await sandbox.count("SELECT count(*) FROM reservations WHERE expiresAt > 5") == 1)
        #expect(try await stock(id) == 3)
    }

    @Test func shortStockTakesNothingAtAll() async throws {
        let plenty = try await product()
        let scarce = try await product(["name": "Balm", "stock": 1])
        let error = await parseError { try await reserve([(plenty, 2), (scarce, 2)]) }
        #expect(error?.code == .validationError)
        #expect(error?.message == "Only 1 of Balm is left.")
        #expect(error?.details == ["productId": .string(scarce), "available": 1] as JSON)
        #expect(try await stock(plenty) == 5)
        #expect(try await sandbox.count("SELECT count(*) FROM reservations") == 0)
        // Two lines with the same product count together.
        #expect(await parseError { try await reserve([(plenty, 3), (plenty, 3)]) }?.code == .validationError)
        #expect(try await stock(plenty) == 5)
    }

    @Test func inactiveAndUnknownProductsAreNotFound() async throws {
        let inactive = try await product(["active": false])
        for id in [inactive, "unknown123"] {
            #expect(await parseError { try await reserve([(id, 1)]) } == .objectNotFound)
        }
    }

    @Test func releasingPutsBackOnceAndBlocksALateReservation() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        try await release()
        try await release()
        #expect(try await stock(id) == 5)
        try await release("r2")
        #expect(await parseError { try await reserve([(id, 1)], id: "r2") }?.code == .validationError)
        #expect(try await stock(id) == 5)
    }

    @Test func aSoldReservationIsNotReleased() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        try await commit()
        try await release()
        try await expire()
        #expect(try await stock(id) == 3)
    }

    @Test func expiryPutsBackAndALateCommitTakesAgain() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        try await expire()
        try await expire()
        #expect(try await stock(id) == 5)
        try await commit()
        #expect(try await stock(id) == 3)
    }

    @Test func aLateCommitTakesWhatIsLeftAndStockNeverTurnsNegative() async throws {
        let id = try await product()
        try await reserve([(id, 4)])
        try await expire()
        try await reserve([(id, 3)], id: "r2")
        try await commit()
        #expect(try await stock(id) == 0)
        try await release("r2")
        #expect(try await stock(id) == 3)
    }

    @Test func anExpiredReservationCanBeTakenAgainAtItsPrice() async throws {
        let id = try await product()
        let first = try await reserve([(id, 4)])
        try await expire()
        try await sandbox.apply(.update, "Product", id, ["unitPrice": 9], as: .satchel)
        #expect(try await reserve([(id, 4)]) == first)
        #expect(try await stock(id) == 1)
        try await expire()
        try await reserve([(id, 3)], id: "r2")
        #expect(await parseError { try await reserve([(id, 4)]) }?.message == "Only 2 of Serum are left.")
    }

    @Test func productsWithoutStockNeverRunOut() async throws {
        let id = try await product(["stock": .null])
        try await reserve([(id, 999)])
        try await release()
        #expect(try await stock(id) == nil)
    }

    @Test func oneHundredBuyersShareFivePieces() async throws {
        let id = try await product()
        let sold = await withTaskGroup(of: Bool.self) { group in
            for buyer in 0..<100 {
                group.addTask { (try? await reserve([(id, 1)], id: "buyer\(buyer)")) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(sold == 5)
        #expect(try await stock(id) == 0)
    }

    @Test(
        arguments: [(0, 1, 60), (1, 0, 60), (1, 1000, 60), (201, 1, 60), (1, 1, 59), (1, 1, 86_401)]
            as [(Int, UInt32, UInt32)])
    func boundsAreChecked(_ lines: Int, _ quantity: UInt32, _ lifetime: UInt32) async throws {
        let id = try await product(["stock": .null])
        let request = ReserveRequest.with { request in
            request.reservationID = "r"
            request.lifetimeSeconds = lifetime
            request.lines = (0..<lines).map { _ in
                .with {
                    $0.productID = id
                    $0.quantity = quantity
                }
            }
        }
        let error = await parseError {
            _ = try await sandbox.store.write { try reservations.reserve(request, caller: .master, in: $0) }
        }
        #expect(error?.code == .validationError)
    }
}
