import ParseProtocol
import TestSupport
import Testing

/// Each way of writing a product's stock adds its row to the ledger, and the books stay clean.
@Suite struct StockWritesTests {
    private static let code = """
        Parse.Cloud.define('hello', () => 'Hello');
        Parse.Cloud.define('count', async ({ params }) => {
            const product = await new Parse.Query('Product').get(params.id, { useMasterKey: true });
            await product.save({ stock: params.stock }, { useMasterKey: true });
        });
        """

    private static func expectOK(_ answer: ParseClient.Answer) throws {
        try #require([200, 201].contains(answer.status), "\(answer.text.prefix(400))")
    }

    /// The product's moves, oldest first, read in pages.
    private static func moves(_ id: String, _ admin: ParseClient) async throws -> [JSON] {
        var (moves, after): ([JSON], JSON) = ([], .null)
        repeat {
            let parameters: JSON = ["productId": .string(id), "limit": 4, "after": after]
            let page = try await admin.run("stockMoves", parameters)
            try expectOK(page)
            moves += page.result["moves"]?.arrayValue ?? []
            after = page.result["next"] ?? .null
        } while !after.isNull
        return moves.reversed()
    }

    @Test(.timeLimit(.minutes(10))) func eachWayOfWritingStockAddsARow() async throws {
        let suite = try await CloudSuite.start(Self.code)
        let master = ParseClient.master(suite)
        let admin = try await Customer.admin(suite)
        let shelf = try await Shelf.fill(suite, names: ["Counted"], stock: 5)
        let id = shelf.productIds[0]
        let path = "/classes/Product/\(id)"
        try Self.expectOK(try await admin.call(.PUT, path, ["stock": 8]))
        var tunnel = master
        tunnel.style = .tunnelled
        try Self.expectOK(try await tunnel.call(.PUT, path, ["stock": ["__op": "Increment", "amount": 2]]))
        let change: JSON = ["method": "PUT", "path": .string("/parse\(path)"), "body": ["stock": 4]]
        try Self.expectOK(try await master.call(.POST, "/batch", ["requests": [change]]))
        let row: JSON = ["objectId": .string(id), "name": "Counted", "unitPrice": 3.5, "stock": 9]
        try Self.expectOK(
            try await master.send(
                .POST, "/import/Product", headers: master.credentials + [("Content-Type", "application/json")],
                body: JSON.array([row]).serialized))
        try Self.expectOK(try await ParseClient(suite).run("count", ["id": .string(id), "stock": 6]))
        try Self.expectOK(try await admin.call(.PUT, path, ["detail": "The same stock."]))
        #expect(try await admin.call(.PUT, path, ["stock": -1]).code == 142)

        let customer = try await Customer.signUp(suite)
        let item: JSON = ["productId": .string(id), "quantity": 2]
        try Self.expectOK(try await customer.client.run("addToBag", item))
        let receipt = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        try Self.expectOK(receipt)
        let orderId = receipt.result["orderId"] ?? .null
        try await eventually("the sale is noted") {
            try await Self.moves(id, admin).last?["reason"] == "sold"
        }
        try Self.expectOK(try await customer.client.run("cancelOrder", ["orderId": orderId]))
        try await eventually("the goods are back") {
            try await Self.moves(id, admin).last?["reason"] == "returned"
        }
        try await eventually("the books are clean", within: .seconds(120)) {
            (try? await suite.script("verify")) != nil
        }
        try Self.expectOK(try await admin.call(.PUT, path, ["stock": ["__op": "Delete"]]))
        try Self.expectOK(try await admin.call(.PUT, path, ["stock": 1]))
        try Self.expectOK(try await admin.call(.DELETE, path))

        let moves = try await Self.moves(id, admin)
        let told = moves.map { "\($0.text("reason")) \($0["pieces"]?.intValue ?? 0)" }
        #expect(
            told == [
                "opening 5", "adjusted 3", "adjusted 2", "adjusted -6", "adjusted 5", "adjusted -3", "reserved -2",
                "sold 0", "returned 2", "untracked -6", "opening 1", "untracked -1",
            ])
        let ofOrder = moves.filter { $0["orderId"] == orderId }
        #expect(ofOrder.map { $0.text("reason") } == ["reserved", "sold", "returned"])
        #expect(ofOrder.allSatisfy { $0["who"] == "" })
        #expect(moves.first?["who"] == "master key")
        #expect(moves.dropFirst().first?["who"] == moves.last?["who"])
        #expect(moves.last?.text("who").isEmpty == false)
        #expect(moves.last?["who"] != "master key")
        try await eventually("the books are clean again", within: .seconds(120)) {
            (try? await suite.script("verify")) != nil
        }
        await suite.stop()
    }
}
