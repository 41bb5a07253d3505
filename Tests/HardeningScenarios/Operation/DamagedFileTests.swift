import Foundation
import ParseProtocol
import TestSupport
import Testing

/// T8c, T9a, T9b, T9c: how a service reacts when its files were changed or removed. Each test has its own suite.
@Suite(.serialized) struct DamagedFileTests {
    private static func buy(
        _ suite: Suite, _ shelf: Shelf, as customer: Customer, times: Int = 1
    ) async throws -> [Int64] {
        var numbers: [Int64] = []
        for _ in 0..<times {
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let paid = try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
            guard let number = paid.result["orderNo"]?.intValue else { throw Unexpected("checkout", paid) }
            numbers.append(number)
        }
        return numbers
    }

    /// Kills the bag service, changes its files before its restart, and waits for its log message.
    private static func whileDead(_ suite: Suite, _ change: (String) throws -> Void) async throws {
        let stop = try #require(suite.processId(of: "bag-1"))
        _ = try await Command.run(["kill", "-STOP", "\(try #require(suite.managerId))"])
        _ = try await Command.run(["kill", "-9", "\(stop)"])
        try await eventually("the bag has ended") { suite.processId(of: "bag-1") == nil }
        try change(suite.dataDirectory + "/bag")
        _ = try await Command.run(["kill", "-CONT", "\(try #require(suite.managerId))"])
    }

    private static func refusal(_ suite: Suite) -> String {
        suite.logTails(lines: 200) { $0.contains("does not open its database") }
    }

    /// T9a
    @Test(.timeLimit(.minutes(10)), arguments: ["empty", "half", "log", "missing", "foreign", "other", "pages"])
    func aDamagedDatabaseIsRefusedWithAClearText(_ damage: String) async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Whole"], stock: 1000)
            _ = try await Self.buy(suite, shelf, as: try await Customer.signUp(suite), times: 8)
            if damage == "pages" {
                // The stop empties the log into the database.
                try await suite.restart("bag-1")
                try await suite.untilHealthy()
            }
            try await Self.whileDead(suite) { bag in
                let (file, log) = (URL(fileURLWithPath: bag + ".sqlite"), URL(fileURLWithPath: bag + ".sqlite-wal"))
                switch damage {
                case "empty":
                    try Data().write(to: file)
                    try Data().write(to: log)
                case "half":
                    let size = try Data(contentsOf: file).count
                    try FileHandle(forWritingTo: file).truncate(atOffset: UInt64(size / 2))
                    try FileHandle(forWritingTo: log).truncate(atOffset: 0)
                case "missing":
                    for ending in [".sqlite", ".sqlite-wal", ".sqlite-shm", ".born"] {
                        try? FileManager.default.removeItem(atPath: bag + ending)
                    }
                case "pages":
                    let (size, handle) = (try Data(contentsOf: file).count, try FileHandle(forWritingTo: file))
                    for page in stride(from: 8192, to: size, by: 8192) {
                        try handle.seek(toOffset: UInt64(page))
                        handle.write(Data(repeating: 0xA5, count: 2048))
                    }
                case "foreign": try Data("name;price\n".utf8).write(to: file)
                case "other":
                    try Data(contentsOf: URL(fileURLWithPath: suite.dataDirectory + "/users.sqlite")).write(to: file)
                    try Data().write(to: log)
                default:
                    let data = try Data(contentsOf: log)
                    let handle = try FileHandle(forWritingTo: log)
                    try handle.seek(toOffset: UInt64(data.count / 2))
                    handle.write(Data(repeating: 0xA5, count: 100))
                }
            }
            try await eventually("the bag refuses", within: .seconds(20)) {
                Self.refusal(suite).contains("bag.sqlite")
            }
            #expect(Self.refusal(suite).contains("Restore"), "\(Self.refusal(suite))")
            // It does not start with an empty database: customers must not see an empty order history.
            let orders = try await ParseClient.master(suite).find("Order", [:], ["count": 1, "limit": 0])
            #expect(orders.status != 200, "\(orders.text)")
            guard damage == "log" else { return }
            try await Self.thePrintedRepairKeepsTheRest(suite)
        }
    }

    private static func thePrintedRepairKeepsTheRest(_ suite: Suite) async throws {
        #expect(refusal(suite).contains("scripts/accept-loss bag"), "\(refusal(suite))")
        let said = try await suite.script("accept-loss", "bag")
        try await suite.untilHealthy()
        let aside: Substring? = said.split(separator: "\n").first?.split(separator: " ").last
        let copies = try FileManager.default.contentsOfDirectory(atPath: String(try #require(aside)))
        #expect(Set(copies).isSuperset(of: ["bag.sqlite", "bag.sqlite-wal", "bag.born"]), "\(copies)")
        let whole = try await suite.rows("bag", "PRAGMA integrity_check")
        #expect(whole == [["ok"]])
    }

    /// T9a: the last frame of the log was being written when the machine stopped.
    @Test(.timeLimit(.minutes(10))) func aTornLogIsReadToItsLastCommit() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Torn"], stock: 1000)
            let numbers = try await Self.buy(suite, shelf, as: try await Customer.signUp(suite), times: 3)
            try await Self.whileDead(suite) { bag in
                let log = try FileHandle(forWritingTo: URL(fileURLWithPath: bag + ".sqlite-wal"))
                _ = try log.seekToEnd()
                log.write(Data(repeating: 7, count: 1000))
            }
            try await suite.untilHealthy()
            let orders = try await ParseClient.master(suite).find("Order", ["orderStatus": 1])
            #expect(Set(orders.results.compactMap { $0["orderNo"]?.intValue }) == Set(numbers), "\(orders.text)")
        }
    }

    /// T8c: the log is lost, the operator accepts the loss, and no order number is used twice.
    @Test(.timeLimit(.minutes(10))) func numbersAreNeverGivenTwiceThoughTheLogIsLost() async throws {
        for lost in [["bag.numbers"], []] {
            try await Suite.with(settings: Suite.inFiles) { suite in
                let shelf = try await Shelf.fill(suite, names: ["Numbered"], stock: 1000)
                let customer = try await Customer.signUp(suite)
                let before = try await Self.buy(suite, shelf, as: customer, times: 5)
                try await eventually("payments has heard of them") {
                    try await suite.rows("payments", "SELECT max(orderNumber) FROM highestOrder") == [[.int(before[4])]]
                }
                try await Self.whileDead(suite) { bag in
                    try FileManager.default.removeItem(atPath: bag + ".sqlite-wal")
                    for name in lost + ["bag.born"] {
                        try? FileManager.default.removeItem(atPath: "\(suite.dataDirectory)/\(name)")
                    }
                }
                // The gateway may take the killed process for healthy a moment longer.
                try await eventually("the bag starts with no order: the log held every one", within: .seconds(60)) {
                    (try? await suite.rows("bag", "SELECT count(*) FROM checkouts")) == [[0]]
                }
                try await suite.untilHealthy()
                let after = try await Self.buy(suite, shelf, as: customer, times: 2)
                #expect(Set(before).isDisjoint(with: after), "\(before) and \(after) after losing \(lost)")
            }
        }
    }

    /// T9c: after `scripts/down`, a copy of the databases, keys and files runs the shop elsewhere.
    @Test(.timeLimit(.minutes(10))) func aCopyOfTheDatabasesAloneIsTheShop() async throws {
        let copy = FileManager.default.temporaryDirectory.path + "/copy-\(Names.random(8))"
        defer { try? FileManager.default.removeItem(atPath: copy) }
        var numbers: [Int64] = []
        var customer: Customer?
        try await Suite.with(settings: Suite.inFiles) { suite in
            let shelf = try await Shelf.fill(suite, names: ["Moved"], stock: 1000)
            customer = try await Customer.signUp(suite)
            numbers = try await Self.buy(suite, shelf, as: #require(customer), times: 3)
            try await suite.down()
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
            for name in try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
            where name.hasSuffix(".sqlite") || name.hasSuffix(".key") || name.hasSuffix(".password") || name == "files"
            {
                try FileManager.default.copyItem(atPath: "\(suite.dataDirectory)/\(name)", toPath: "\(copy)/\(name)")
            }
        }
        let known = try #require(customer)
        try await Suite.with(data: copy) { suite in
            var client = ParseClient(suite)
            let login = try await client.call(
                .POST, "/login", ["username": .string(known.email), "password": .string(known.password)])
            #expect(login.status == 200, "\(login.text)")
            client.sessionToken = login["sessionToken"]?.stringValue
            let orders = try await client.find("Order", ["orderStatus": 1])
            #expect(Set(orders.results.compactMap { $0["orderNo"]?.intValue }) == Set(numbers), "\(orders.text)")
            let product = try await client.find("Product", ["name": "Moved"])
            #expect(product.results.first?["stock"] == 997, "\(product.text)")
        }
    }
}
