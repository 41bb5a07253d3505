import CatalogService
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The ledger of stock: a row for each change, and the sum of a product's rows is its stock.
@Suite struct StockLedgerTests {
    private let sandbox: SandboxStore
    private let reservations: Reservations

    init() async throws {
        sandbox = try await SandboxStore(catalogPlan(.standard))
        reservations = Reservations(currency: .standard, logger: Logger(label: "test"))
    }

    private func product(_ stock: JSON = 5, id: String? = nil) async throws -> String {
        let product: JSON = ["name": "Serum", "unitPrice": 3.5, "stock": stock]
        return try await sandbox.apply(.create, "Product", id, product, as: .satchel).objectId
    }

    private func set(_ stock: JSON, of id: String, as principal: Principal = .satchel) async throws {
        try await sandbox.apply(.update, "Product", id, ["stock": stock], as: principal)
    }

    private func reserve(_ lines: [(String, UInt32)], id: String = "r1") async throws {
        let request = ReserveRequest.with { request in
            request.reservationID = id
            request.orderID = "o1"
            request.lifetimeSeconds = 60
            request.lines = lines.map { line in
                .with {
                    $0.productID = line.0
                    $0.quantity = line.1
                }
            }
        }
        _ = try await sandbox.store.write { try reservations.reserve(request, caller: .master, in: $0) }
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

    private func restock(_ id: String, _ pieces: UInt32) async throws {
        let message = RestockRequest.with { message in
            message.restockID = "order:o1"
            message.reservationID = "r1"
            message.lines = [
                .with {
                    $0.productID = id
                    $0.quantity = pieces
                }
            ]
        }
        try await sandbox.store.write { try Restocks.add(message, in: $0) }
    }

    private func stock(_ id: String) async throws -> Int64? {
        try await sandbox.document("Product", id)["stock"]?.intValue
    }

    /// The product's moves, oldest first.
    private func moves(_ id: String) async throws -> [JSON] {
        let page = try StockMovesPage(["productId": .string(id), "limit": 200])
        return try await sandbox.store.read { try page.read(in: $0) }["moves"]?.arrayValue?.reversed() ?? []
    }

    private func told(_ id: String) async throws -> [String] {
        try await moves(id).map { "\($0["reason"]?.stringValue ?? "") \($0["pieces"]?.intValue ?? 0)" }
    }

    /// The number of products whose sum is not their stock, deleted ones included.
    private func differences() async throws -> Int {
        try await sandbox.store.read { reader in
            let rows = try reader.rows("SELECT productId, sum(pieces) AS sum FROM stockMoves GROUP BY productId", [])
            return try rows.filter { row in
                let product = try? JSON(parsing: reader.get("Product", row.text("productId"), caller: .master))
                return try (product?["stock"]?.intValue ?? 0) != row.int("sum")
            }.count
        }
    }

    // MARK: Tests

    @Test func aSaleIsReservedAndSold() async throws {
        let (soap, comb) = (try await product(), try await product(9))
        try await reserve([(soap, 2), (comb, 1)])
        try await reserve([(soap, 2), (comb, 1)])
        for _ in 0..<2 { try await commit() }
        for _ in 0..<2 { try await restock(soap, 2) }
        #expect(try await told(soap) == ["opening 5", "reserved -2", "sold 0", "returned 2"])
        #expect(try await told(comb) == ["opening 9", "reserved -1", "sold 0", "returned 1"])
        let rows = try await moves(soap)
        #expect(rows.map { $0["orderId"] } == ["", "o1", "o1", "o1"])
        #expect(rows.map { $0["reservationId"] } == ["", "r1", "r1", "r1"])
        #expect(try await differences() == 0)
    }

    @Test func aReservationIsReleased() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        for _ in 0..<2 { try await release() }
        #expect(try await told(id) == ["opening 5", "reserved -2", "released 2"])
        #expect(try await differences() == 0)
    }

    @Test func anExpiredReservationIsTakenAgainOrSoldLate() async throws {
        let id = try await product(3)
        try await reserve([(id, 2)])
        try await expire()
        try await reserve([(id, 2)])
        try await expire()
        try await set(1, of: id)
        try await commit()
        #expect(
            try await told(id) == [
                "opening 3", "reserved -2", "expired 2", "reserved -2", "expired 2", "adjusted -2", "sold -1",
            ])
        #expect(try await stock(id) == 0)
        #expect(try await differences() == 0)
    }

    @Test func aClientsWritesAreAdjustmentsWithTheirAuthor() async throws {
        let id = try await product()
        let editor = Principal.with {
            $0.userID = "ada"
            $0.roles = ["admins"]
        }
        let master = Principal.with {
            $0.master = true
            $0.network = "7f000001"
        }
        try await set(8, of: id, as: editor)
        try await set(["__op": "Increment", "amount": -3], of: id, as: master)
        try await set(5, of: id, as: master)
        try await sandbox.apply(.update, "Product", id, ["detail": "Soft"], as: editor)
        #expect(await parseError { try await set(-1, of: id, as: editor) }?.code == .validationError)
        #expect(try await told(id) == ["opening 5", "adjusted 3", "adjusted -3"])
        #expect(try await moves(id).map { $0["who"] } == ["", "ada", "master key"])
        try await sandbox.store.write { try AccountDeletion.forget("ada", in: $0) }
        #expect(try await moves(id).map { $0["who"] } == ["", "", "master key"])
        #expect(try await differences() == 0)
    }

    @Test func anImportIsFollowed() async throws {
        let id = try await product(5, id: "imported01")
        let row: JSON = ["objectId": "imported01", "name": "Serum", "unitPrice": 3.5, "stock": 2]
        try await sandbox.apply(.create, "Product", id, row, imported: true, as: .satchel)
        #expect(try await told(id) == ["opening 5", "adjusted -3"])
    }

    @Test func aProductWithoutStockHasNoMoves() async throws {
        let id = try await product(.null)
        try await reserve([(id, 2)])
        try await commit()
        #expect(try await told(id) == [])
        try await set(4, of: id)
        #expect(try await told(id) == ["opening 4"])
    }

    /// What a running checkout held is not added to a stock that was counted meanwhile.
    @Test func aReleaseAfterTheStockWasRemovedReturnsNothing() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        try await set(["__op": "Delete"], of: id)
        #expect(try await told(id) == ["opening 5", "reserved -2", "released 2", "untracked -5"])
        try await set(7, of: id)
        try await release()
        #expect(try await stock(id) == 7)
        #expect(try await told(id).suffix(1) == ["opening 7"])
        #expect(try await differences() == 0)
    }

    @Test func aDeletedProductEndsWithNothing() async throws {
        let id = try await product(5, id: "deleted001")
        try await reserve([(id, 2)])
        try await sandbox.apply(.delete, "Product", id, as: .satchel)
        #expect(try await told(id) == ["opening 5", "reserved -2", "released 2", "untracked -5"])
        _ = try await product(3, id: id)
        try await expire()
        #expect(try await stock(id) == 3)
        #expect(try await differences() == 0)
    }

    @Test func aStockOfAnEarlierReleaseMayBeADouble() async throws {
        let id = try await product(.null)
        try await sandbox.store.write {
            _ = try $0.update("Product", id, ["stock": .double(5)], caller: .master)
            try StockLedger.open(in: $0)
        }
        try await reserve([(id, 2)])
        #expect(try await told(id) == ["opening 5", "reserved -2"])
        #expect(try await stock(id) == 3)
        #expect(try await differences() == 0)
    }

    /// More products than a page, and one of which a checkout holds pieces.
    @Test func theLedgerOpensWithTheStockThatIsThere() async throws {
        try await sandbox.store.write { transaction in
            for number in 0..<501 {
                let product: JSON = ["name": "Serum", "unitPrice": 3.5, "stock": .int(Int64(number))]
                _ = try transaction.create("Product", product, caller: .master)
            }
        }
        let (held, free) = (try await product(), try await product(.null))
        try await reserve([(held, 2), (free, 1)])
        try await sandbox.store.write {
            try $0.execute("DELETE FROM stockMoves")
            try StockLedger.open(in: $0)
        }
        #expect(try await told(held) == ["opening 5", "reserved -2"])
        #expect(try await told(free) == [])
        #expect(try await sandbox.count("SELECT count(*) FROM stockMoves WHERE reason = 'opening'") == 502)
        try await commit()
        #expect(try await told(held) == ["opening 5", "reserved -2", "sold 0"])
        #expect(try await differences() == 0)
    }

    /// A former release left what a checkout held when the stock was removed.
    @Test func theLedgerOpensWithoutPiecesOfRemovedStock() async throws {
        let id = try await product()
        try await reserve([(id, 2)])
        try await set(["__op": "Delete"], of: id)
        try await sandbox.store.write {
            try $0.execute("UPDATE reservationLines SET taken = 2")
            try $0.execute("DELETE FROM stockMoves")
            try StockLedger.open(in: $0)
        }
        try await set(10, of: id)
        try await expire()
        #expect(try await stock(id) == 10)
        #expect(try await told(id) == ["opening 10"])
    }

    /// The removal of a stock sums them in the writer.
    @Test(.enabled(if: testsRunOnSQLite)) func movesAreSummedInTheirIndex() async throws {
        let plan = try await sandbox.store.read { reader in
            try reader.rows(
                "EXPLAIN QUERY PLAN SELECT coalesce(sum(pieces), 0) AS pieces FROM stockMoves WHERE productId = ?",
                [.text("p1")]
            ).map { try $0.text("detail") }
        }
        #expect(plan.contains { $0.contains("COVERING INDEX stockMovesByProduct") }, "\(plan)")
    }

    @Test func movesAreReadInPages() async throws {
        let id = try await product(1)
        for stock: Int64 in 2...5 { try await set(.int(stock), of: id) }
        var (pieces, after): ([Int64], JSON) = ([], .null)
        repeat {
            let page = try StockMovesPage(["productId": .string(id), "limit": 2, "after": after])
            let answer = try await sandbox.store.read { try page.read(in: $0) }
            pieces += answer["moves"]?.arrayValue?.compactMap { $0["pieces"]?.intValue } ?? []
            after = answer["next"] ?? .null
        } while !after.isNull
        #expect(pieces == [1, 1, 1, 1, 1])
        for wrong: JSON in [[:], ["productId": .string(id), "after": "x"], ["productId": .string(id), "limit": 0]] {
            #expect(await parseError { _ = try StockMovesPage(wrong) }?.code == .validationError)
        }
    }
}
