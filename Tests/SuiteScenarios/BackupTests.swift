import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The procedure of docs/guides/backup.md, with scripts/backup and scripts/restore as an operator runs them. Each
/// scenario has its own suite.
@Suite(.serialized) struct BackupTests {
    private typealias Told = [(customer: Customer, receipts: [String: JSON])]

    /// A backup is made while customers buy; then everything is deleted and restored. Each order acknowledged before
    /// the backup exists once, a repeated purchase gets its receipt, the books of all services agree, and no order
    /// number is used twice.
    @Test(.timeLimit(.minutes(10))) func aBackupTakenWhileCustomersBuyIsTheShop() async throws {
        // Each customer orders more often than the mail limit for unverified addresses allows.
        let unbounded = ["SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0"]
        try await Suite.with(settings: unbounded.merging(Suite.inFiles) { $1 }) { suite in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let shelf = try await Shelf.fill(
                suite, names: (0..<12).map { "Item \($0) \(Names.random(4))" }, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 12)
            let master = ParseClient.master(suite)
            let content = [UInt8](repeating: 7, count: 300_000)
            let upload = try await master.upload(content, as: "a.bin", type: nil)
            try #require(upload.status == 201, "\(upload.text)")

            var told: Told = []
            try await crowd.buyWhile {
                try await eventually("customers buy") { crowd.checkouts >= 60 }
                told = crowd.told
                _ = try await suite.script("backup", folder.path("shop"))
                let during = crowd.checkouts
                try await eventually("customers go on") { crowd.checkouts >= during + 20 }
            }
            // The entries that the dashboard shows about the backup.
            let notes = FileManager.default.contents(atPath: suite.dataDirectory + "/backups.log") ?? Data()
            let note = try JSON(parsing: Array(notes.dropLast()))
            #expect(note["folder"] == .string(folder.path("shop")))
            #expect(note["verified"] == true)
            try await suite.down()
            try FileManager.default.removeItem(atPath: suite.dataDirectory)
            _ = try await suite.script("restore", folder.path("shop"))
            _ = try await suite.script("up", "--no-build", "--no-demo")
            try await suite.untilHealthy()

            try await Self.everyReceiptIsThere(told)
            #expect(try await master.download(master.path(of: upload.json.text("name"))).body == content)
            try await Self.booksAgree(suite, shelf, atLeast: told.reduce(0) { $0 + $1.receipts.count })
            try await Self.numbersGoOn(shelf, after: crowd.told)
            try await Self.booksAgree(suite, shelf, atLeast: told.reduce(told.count) { $0 + $1.receipts.count })
        }
    }

    private static func buy(_ customer: Customer, _ key: String) async throws -> JSON {
        let answer = try await customer.client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(key), "shippingAddress": Customer.address])
        guard answer.status == 200 else { throw Unexpected("checkout \(key)", answer) }
        return answer.result
    }

    private static func everyReceiptIsThere(_ told: Told) async throws {
        for (customer, receipts) in told {
            let history = try await customer.client.findAll("Order", ["orderStatus": 1])
            // The service refuses a key while the bag has other content than the key's purchase.
            _ = try await customer.client.run("emptyBag")
            for (key, receipt) in receipts {
                let orders = history.filter { $0.objectId == receipt.text("orderId") }
                #expect(orders.map { $0["orderNo"]?.intValue } == [receipt["orderNo"]?.intValue], "\(key)")
                let repeated = try await buy(customer, key)
                #expect(repeated == receipt, "\(key)")
            }
        }
    }

    /// Bag, payments, catalog, analytics and push agree on the purchases.
    private static func booksAgree(_ suite: Suite, _ shelf: Shelf, atLeast orders: Int) async throws {
        try await eventually("what was under way is decided") {
            try await suite.rows("bag", "SELECT 1 FROM checkouts WHERE state NOT IN ('made', 'failed')").isEmpty
        }
        let made = try await suite.rows("bag", "SELECT lines FROM checkouts WHERE state = 'made'")
        #expect(made.count >= orders)
        let numbers = try await ParseClient.master(suite).findAll("Order", ["orderStatus": 1])
            .compactMap { $0["orderNo"]?.intValue }
        #expect(numbers.count == made.count)
        #expect(Set(numbers).count == numbers.count, "Order numbers are unique.")
        let charges = try await suite.rows(
            "payments", "SELECT count(*), count(DISTINCT orderId) FROM charges WHERE state = 'succeeded'")
        #expect(charges == [[.int(Int64(made.count)), .int(Int64(made.count))]])

        var sold: [String: Int64] = [:]
        for row in made {
            let lines = try JSON(parsing: row.at(0)?.stringValue ?? "").arrayValue ?? []
            for line in lines { sold[line.text("productId"), default: 0] += line["quantity"]?.intValue ?? 0 }
        }
        try await eventually("stock is what was not sold") {
            let products = try await ParseClient.master(suite).find("Product", ["brand": shelf.pointer]).results
            return products.count == shelf.names.count
                && products.allSatisfy { $0["stock"]?.intValue == 1_000_000 - sold[$0.objectId, default: 0] }
        }
        for (service, table) in [("analytics", "sales"), ("push", "notifications")] {
            try await eventually("\(service) heard of each order once") {
                try await suite.rows(service, "SELECT count(*) FROM \(table)").first?.at(0)?.intValue
                    == Int64(made.count)
            }
        }
    }

    /// No new order gets a number that a customer already received, even for an order placed after the backup.
    private static func numbersGoOn(_ shelf: Shelf, after told: Told) async throws {
        var given = Set(told.flatMap(\.receipts.values).compactMap { $0["orderNo"]?.intValue })
        for (customer, _) in told {
            let added = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            guard added.status == 200 else { throw Unexpected("addToBag", added) }
            let receipt = try await buy(customer, "after-the-restore")
            let number = try #require(receipt["orderNo"]?.intValue)
            let isNew = given.insert(number).inserted
            #expect(isNew, "\(number) was given before.")
        }
    }

    /// A backup with a flipped byte, a missing file or a newer release is refused, and then nothing is restored.
    @Test(.timeLimit(.minutes(10))) func whatIsNotWholeIsRefused() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let upload = try await ParseClient.master(suite).upload([1, 2, 3], as: "a.bin", type: nil)
            try #require(upload.status == 201, "\(upload.text)")
            let name = upload.json.text("name")
            let file = "files/\(name.prefix(2))/\(name)"
            let backup = folder.path("shop")
            _ = try await suite.script("backup", backup)
            _ = try await suite.script("restore", "--check", backup)
            let modes = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? NSNumber
            #expect(modes?.intValue == 0o700, "Nobody else reads the keys.")
            let again = await Self.refusal { try await suite.script("backup", backup) }
            #expect(again.contains("is there already"), "\(again)")
            let whileRunning = await Self.refusal { try await suite.script("restore", backup) }
            #expect(whileRunning.contains("the suite is running"), "\(whileRunning)")

            let databases = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"].map {
                "\($0).sqlite"
            }
            let flips = databases + ["bag.born", "users.key", "files.key", file, "manifest.json", "manifest.sha256"]
            for path in flips {
                let damaged = try folder.copy("shop")
                try Self.flipAByte("\(damaged)/\(path)")
                let refusal = await Self.refusal(restoring: damaged, in: folder)
                #expect(refusal.contains("is damaged"), "\(path): \(refusal)")
            }
            for path in ["crash.sqlite", "users.key", file, "manifest.json", "manifest.sha256"] {
                let damaged = try folder.copy("shop")
                try FileManager.default.removeItem(atPath: "\(damaged)/\(path)")
                let refusal = await Self.refusal(restoring: damaged, in: folder)
                #expect(refusal.contains(path), "\(path): \(refusal)")
            }
            let newer = try folder.copy("shop")
            let rename = #"""
                cd "$1"
                sed -i -E 's/"release": "[0-9]+/&9/' manifest.json
                sha256sum manifest.json > manifest.sha256
                """#
            _ = try await Command.run(["bash", "-c", rename, "bash", newer])
            let refusal = await Self.refusal(restoring: newer, in: folder)
            #expect(refusal.contains("with that release or a newer one"), "\(refusal)")
        }
    }

    /// Existing data is never overwritten: it remains, or is moved aside if the operator requests it.
    @Test(.timeLimit(.minutes(10))) func dataThatIsThereIsMovedAsideOnlyWhenTold() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let backup = folder.path("shop")
            _ = try await suite.script("backup", backup)
            let data = folder.path("data")
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
            try Data("kept".utf8).write(to: URL(fileURLWithPath: data + "/precious"))
            // The SSH keys of the shop's user (docs/guides/go-live.md).
            try FileManager.default.createDirectory(atPath: data + "/.ssh", withIntermediateDirectories: true)
            let restore = "\(checkoutDirectory)/scripts/restore"
            let refusal = await Self.refusal {
                try await Command.run([restore, backup], environment: ["SATCHEL_DATA": data])
            }
            #expect(refusal.contains("is not empty"), "\(refusal)")
            #expect(Set(try folder.names("data")) == [".ssh", "precious", "scripts.lock"])
            _ = try await Command.run([restore, "--replace", backup], environment: ["SATCHEL_DATA": data])
            let aside = try #require(try folder.names("data").first { $0.hasPrefix("replaced-") })
            #expect(try folder.names("data/\(aside)") == ["precious"])
            #expect(try folder.names("data").contains("bag.sqlite"))
            #expect(try !folder.names("data").contains("precious"))
            #expect(try folder.names("data").contains(".ssh"))
        }
    }

    /// A killed or failed backup leaves nothing that looks like a backup, and the next one starts from the beginning.
    @Test(.timeLimit(.minutes(10))) func anInterruptedBackupIsNone() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let backup = folder.path("shop")
            // Kills it with all its processes while the first database is being copied.
            let kill = #"""
                setsid "$1/scripts/backup" "$2" & pid=$!
                until compgen -G "$2.part/*.sqlite" > /dev/null || ! kill -0 "$pid"; do :; done
                kill -9 -- "-$pid"
                wait "$pid" || true
                """#
            _ = try await suite.command(["bash", "-c", kill, "bash", checkoutDirectory, backup])
            #expect(try folder.names() == ["shop.part"], "It was killed in the middle.")
            let unfinished = await Self.refusal(restoring: backup + ".part", in: folder)
            #expect(unfinished.contains("is no backup"), "\(unfinished)")
            let missing = await Self.refusal(restoring: backup, in: folder)
            #expect(missing.contains("is no folder"), "\(missing)")

            // A file-size limit simulates the full disk.
            let full = #"ulimit -f 16; exec "$1/scripts/backup" "$2""#
            let failure = await Self.refusal {
                try await suite.command(["bash", "-c", full, "bash", checkoutDirectory, backup])
            }
            #expect(!failure.isEmpty)
            #expect(try folder.names().filter { $0.hasPrefix("shop") }.isEmpty, "\(failure)")

            _ = try await suite.script("backup", backup)
            _ = try await suite.script("restore", "--check", backup)
            #expect(try folder.names().filter { $0.hasPrefix("shop") } == ["shop"])
        }
    }

    // MARK: - Tools

    /// The error of a command that must fail; empty if it succeeds.
    private static func refusal(_ command: () async throws -> String) async -> String {
        do {
            _ = try await command()
            return ""
        } catch {
            return "\(error)"
        }
    }

    /// The error with which scripts/restore refuses a backup; empty if it restores the backup or leaves files in the
    /// data folder.
    private static func refusal(restoring backup: String, in folder: TemporaryFolder) async -> String {
        let data = "empty-\(Names.random(6))"
        let text = await refusal {
            try await Command.run(
                ["\(checkoutDirectory)/scripts/restore", backup], environment: ["SATCHEL_DATA": folder.path(data)])
        }
        let left = (try? folder.names(data)) ?? []
        return left == ["scripts.lock"] ? text : ""
    }

    private static func flipAByte(_ path: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 0x20
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}
