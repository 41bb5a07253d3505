import Foundation
import ParseProtocol
import TestSupport
import Testing

/// `scripts/verify` on a shop with orders, refunds and cancellations, on its backup, and on copies with faults.
@Suite(.serialized) struct BooksTests {
    @Test(.timeLimit(.minutes(20))) func aShopIsCleanAndEachFaultIsFound() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            try await Self.trade(suite)
            try await eventually("the books are clean", within: .seconds(120)) {
                try await Self.verify(suite)["state"] == "clean"
            }
            let rebuilt = try await suite.script("verify", "--rebuild", "sales")
            #expect(rebuilt.contains(" 5 orders "), "\(rebuilt)")
            let report = try await Self.verify(suite)
            #expect(Self.wrong(report) == [])
            for check in Self.comparing {
                #expect(Self.rows(of: check, in: report) > 0, "\(check) compares nothing.")
            }
            let sums = report["sums"]?.arrayValue ?? []
            #expect(!sums.isEmpty)
            for day in sums {
                #expect(day["bag"] == day["payments"])
                #expect(day["bag"] == day["analytics"])
                #expect(day["bag"] == day["provider"])
            }

            let folder = try TemporaryFolder()
            defer { folder.remove() }
            _ = try await suite.script("backup", folder.path("shop"))
            let before = try folder.names("shop").sorted()
            let table = try await suite.script("verify", "--backup", folder.path("shop"))
            #expect(table.contains("order.charge"))
            #expect(try folder.names("shop").sorted() == before, "A check leaves the backup as it is.")
            for fault in BookFault.all {
                let copy = try folder.copy("shop")
                try await Self.plant(fault, in: copy)
                let found = Self.wrong(try await Self.verify(suite, "--backup", copy))
                #expect(found == [fault.check])
                try FileManager.default.removeItem(atPath: copy)
            }
            // The manifest has the backup's time: a copy's files have another.
            let late = try folder.copy("shop")
            _ = try await Command.run(["touch", "-d", "+400 days", "\(late)/bag.sqlite"])
            #expect(Self.wrong(try await Self.verify(suite, "--backup", late)) == [])
            try await Self.filesAreCompared(suite, folder)
            try await Self.theStatusTellsTheState(suite, folder)
        }
    }

    // MARK: - The shop

    /// Three orders that stay, one of them free, one that is cancelled, one that is partly refunded; two imported ones;
    /// a review, a favourite and a file.
    private static func trade(_ suite: Suite) async throws {
        let shelf = try await Shelf.fill(suite, names: ["One", "Two"], stock: 50)
        let admin = try await Customer.admin(suite)
        let master = ParseClient.master(suite)
        let customer = try await Customer.signUp(suite)
        var orders: [String] = []
        for number in 0..<4 { orders.append(try await buy(customer, shelf.productIds[number % 2])) }
        try expectOK(try await customer.client.run("cancelOrder", ["orderId": .string(orders[0])]))
        let part: JSON = ["orderId": .string(orders[1]), "amount": 100]
        try expectOK(try await admin.run("refundOrder", part))
        let code: JSON = ["discountCode": "FREE", "percent": 100]
        try expectOK(try await admin.run("createDiscountCode", code))
        _ = try await buy(customer, shelf.productIds[0], ["discountCode": "FREE"])

        for number: Int64 in 5...6 {
            let order: JSON = ["orderNo": .int(number), "orderStatus": 1, "total": 700, "currency": "usd"]
            try expectOK(try await master.create("Order", order))
        }
        let product = JSON.pointer("Product", shelf.productIds[0])
        let review: JSON = ["product": product, "rating": 4, "content": "Good."]
        try expectOK(try await customer.client.create("ProductReview", review))
        let favorite: JSON = ["customer": customer.pointer, "product": product]
        try expectOK(try await customer.client.create("FavoriteProduct", favorite))
        try expectOK(try await master.upload([1, 2, 3], as: "a.bin", type: nil))
    }

    private static func buy(_ customer: Customer, _ product: String, _ more: JSON = [:]) async throws -> String {
        let item: JSON = ["productId": .string(product), "quantity": 2]
        try expectOK(try await customer.client.run("addToBag", item))
        var parameters: JSON = ["tokenId": "tok_visa", "shippingAddress": Customer.address]
        for (name, value) in more.objectValue ?? [:] { parameters[name] = value }
        let answer = try await customer.client.run("checkout", parameters)
        try expectOK(answer)
        return answer.result.text("orderId")
    }

    private static func expectOK(_ answer: ParseClient.Answer) throws {
        try #require([200, 201].contains(answer.status), "\(answer.text.prefix(400))")
    }

    // MARK: - The checks

    private static let comparing = [
        "order.charge", "order.sale", "bag.total", "payments.ledger", "file.content", "catalog.stockSum",
        "catalog.sold",
    ]

    /// The report, whatever the exit status.
    private static func verify(_ suite: Suite, _ options: String...) async throws -> JSON {
        let script = #""$0" --json "$@" 2>/dev/null || test $? -le 2"#
        let text = try await suite.command(
            ["bash", "-c", script, "\(checkoutDirectory)/scripts/verify"] + options)
        return try JSON(parsing: text)
    }

    /// The checks that found something, with the services that were not asked.
    private static func wrong(_ report: JSON) -> [String] {
        let checks = report["checks"]?.arrayValue ?? []
        return checks.filter { $0["wrong"]?.arrayValue?.isEmpty == false }.map { $0.text("check") }
            + (report["missing"]?.objectValue ?? [:]).keys.sorted()
    }

    private static func rows(of check: String, in report: JSON) -> Int64 {
        report["checks"]?.arrayValue?.first { $0.text("check") == check }?["rows"]?.intValue ?? 0
    }

    /// Changes a copy of the databases. Unique indexes would refuse some faults.
    private static func plant(_ fault: BookFault, in folder: String) async throws {
        let program = """
            import sqlite3, sys
            base = sqlite3.connect(sys.argv[1])
            kinds = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE%'"
            for (name,) in base.execute(kinds).fetchall(): base.execute(f'DROP INDEX "{name}"')
            for sql in sys.argv[2:]:
                for number, name in base.execute("SELECT id, name FROM classes").fetchall():
                    sql = sql.replace("{" + name + "}", f"o{number}")
                if not base.execute(sql).rowcount: sys.exit(f"changes nothing: {sql}")
            base.commit()
            base.close()
            """
        _ = try await Command.run(["python3", "-c", program, "\(folder)/\(fault.service).sqlite"] + fault.sql)
    }

    private static func filesAreCompared(_ suite: Suite, _ folder: TemporaryFolder) async throws {
        let copy = try folder.copy("shop")
        let files = FileManager.default
        let shards = try files.contentsOfDirectory(atPath: "\(copy)/files").filter { $0.utf8.count == 2 }
        let shard = "\(copy)/files/\(try #require(shards.first))"
        let name = try #require(try files.contentsOfDirectory(atPath: shard).first)
        try files.moveItem(atPath: "\(shard)/\(name)", toPath: "\(shard)/\(name)-other")
        #expect(Set(wrong(try await verify(suite, "--backup", copy))) == ["file.content", "file.row"])
    }

    private static func theStatusTellsTheState(_ suite: Suite, _ folder: TemporaryFolder) async throws {
        let copy = try folder.copy("shop")
        try FileManager.default.removeItem(atPath: "\(copy)/mail.sqlite")
        let partly = await #expect(throws: Command.Failed.self) { try await suite.script("verify", "--backup", copy) }
        #expect(partly?.description.contains("ended with 2") == true)
        #expect(partly?.description.contains("Not checked: mail") == true)
        let fault = try #require(BookFault.all.first { $0.check == "bag.counter" })
        try await plant(fault, in: copy)
        let wrong = await #expect(throws: Command.Failed.self) { try await suite.script("verify", "--backup", copy) }
        #expect(wrong?.description.contains("ended with 1") == true)
        #expect(wrong?.description.contains("What to do:") == true)
        try FileManager.default.removeItem(atPath: "\(copy)/bag.sqlite")
        let none = await #expect(throws: Command.Failed.self) { try await suite.script("verify", "--backup", copy) }
        #expect(none?.description.contains("ended with 2") == true)
        #expect(none?.description.contains("Restore a backup of PostgreSQL") == true)
    }
}
