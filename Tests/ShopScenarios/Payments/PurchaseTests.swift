import ParseProtocol
import TestSupport
import Testing

/// In-app purchases: Apple's verification of a receipt in every form, and the purchased file. The tests run one at a
/// time, because Apple's double always gives the last configured answer.
@Suite(.serialized) struct PurchaseTests {
    private static let receipt: JSON = ["__type": "Bytes", "base64": "cmVjZWlwdA=="]

    /// A product with its file.
    private static func product(_ host: WebhookHost) async throws -> (id: String, file: JSON) {
        let identifier = "shop.example.\(Names.random(8))"
        let master = host.master
        let upload = try await master.send(
            .POST, "/files/icon.png", headers: master.credentials + [("Content-Type", "image/png")],
            body: [0x89, 0x50, 0x4E, 0x47])
        let name = try #require(upload["name"])
        let created = try await master.create(
            "_Product",
            [
                "productIdentifier": .string(identifier), "title": "Extra", "subtitle": "More", "order": 1,
                "icon": ["__type": "File", "name": name], "download": ["__type": "File", "name": name],
                "downloadName": "extra.png",
            ])
        guard created.status == 201, let download = created["download"]?["name"] else {
            throw Unexpected("POST _Product", created)
        }
        return (identifier, download)
    }

    private static func valid(_ product: String, bundle: String = "shop.example") -> JSON {
        [
            "json": [
                "status": 0, "receipt": ["bundle_id": .string(bundle), "in_app": [["product_id": .string(product)]]],
            ]
        ]
    }

    private static func validate(
        _ host: WebhookHost, _ product: String, _ receipt: JSON
    ) async throws
        -> ParseClient.Answer
    {
        try await ParseClient(host.suite).call(
            .POST, "/validate_purchase", ["receipt": receipt, "productIdentifier": .string(product)])
    }

    @Test func aGoodReceiptIsTheFile() async throws {
        let host = try await WebhookHost.shared
        let (product, file) = try await Self.product(host)
        try await host.answer("apple", Self.valid(product))
        for receipt in [Self.receipt, "cmVjZWlwdA=="] {
            let answer = try await Self.validate(host, product, receipt)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer["__type"] == "File", "\(answer.text)")
            #expect(answer["name"] == file, "\(answer.text)")
            #expect(answer["url"]?.stringValue?.hasPrefix("http") == true)
            #expect(host.calls("apple").last?["body"] == ["receipt-data": "cmVjZWlwdA=="])
        }
        let url = try #require(try await Self.validate(host, product, Self.receipt)["url"]?.stringValue)
        let path = try Self.path(of: url, in: host)
        #expect(path.contains("expires="))
        #expect(path.contains("signature="))
        let downloaded = try await ParseClient(host.suite).send(.GET, path)
        #expect(downloaded.status == 200)
        #expect(downloaded.body == [0x89, 0x50, 0x4E, 0x47])
        #expect(downloaded.headers.first(name: "Cache-Control")?.hasPrefix("private, max-age=") == true)
        // A receipt format from before iOS 7.
        let old: JSON = ["status": 0, "receipt": ["bid": "shop.example", "product_id": .string(product)]]
        try await host.answer("apple", ["json": old])
        #expect(try await Self.validate(host, product, Self.receipt)["name"] == file)
    }

    /// The path of a suite's URL below the mount.
    private static func path(of url: String, in host: WebhookHost) throws -> String {
        #expect(url.hasPrefix(host.suite.url))
        return String(url.dropFirst(host.suite.url.count))
    }

    @Test func theUploadedFileOfWhatIsSoldIsGone() async throws {
        let host = try await WebhookHost.shared
        let master = host.master
        var paths: [String] = []
        var fields: JSON = [
            "productIdentifier": .string("shop.example.\(Names.random(8))"), "title": "Extra", "subtitle": "More",
            "order": 1,
        ]
        for field in ["icon", "download"] {
            let upload = try await master.send(
                .POST, "/files/\(field).png", headers: master.credentials + [("Content-Type", "image/png")], body: [1])
            fields[field] = ["__type": "File", "name": upload["name"] ?? .null]
            paths.append("/files/satchel/\(upload.json.text("name"))")
        }
        let guest = ParseClient(host.suite)
        for path in paths { #expect(try await guest.send(.GET, path).status == 200) }
        #expect(try await master.create("_Product", fields).status == 201)
        #expect(try await guest.send(.GET, paths[0]).status == 200)
        #expect(try await guest.send(.GET, paths[1]).status == 404)
    }

    @Test func clientsDoNotSeeWhatIsSold() async throws {
        let host = try await WebhookHost.shared
        let (product, file) = try await Self.product(host)
        let name = try #require(file.stringValue)
        let condition: JSON = ["productIdentifier": .string(product)]
        let seen = try await ParseClient(host.suite).find("_Product", condition)
        #expect(seen.results.count == 1, "\(seen.text)")
        #expect(seen.results.first?["download"] == nil, "\(seen.text)")
        #expect(seen.results.first?["icon"]?["url"] != nil)
        #expect(!seen.text.contains(name))
        #expect(try await Customer.admin(host.suite).find("_Product", condition).results.first?["download"] != nil)
        for asked in [["download": ["$exists": true]], ["download": ["__type": "File", "name": file]]] as [JSON] {
            #expect(try await ParseClient(host.suite).find("_Product", asked).code == 119)
        }
        // Knowing the name without a signature gives no access.
        for query in ["", "?expires=9999999999&signature=\(String(repeating: "0", count: 64))", "?signature=x"] {
            for kind in ["", "metadata/"] {
                let refused = try await ParseClient(host.suite).send(.GET, "/files/satchel/\(kind)\(name)\(query)")
                #expect(refused.status == 403, "\(kind)\(query)")
            }
        }
    }

    @Test func aReceiptOfTheSandboxIsAskedThere() async throws {
        let host = try await WebhookHost.shared
        let (product, file) = try await Self.product(host)
        try await host.answer("apple", ["json": ["status": 21007]])
        try await host.answer("appleSandbox", Self.valid(product))
        #expect(try await Self.validate(host, product, Self.receipt)["name"] == file)
        try await host.answer("appleSandbox", ["json": ["status": 21003]])
        let answer = try await Self.validate(host, product, Self.receipt)
        #expect(answer.status == 200)
        #expect(answer.json == ["status": 21003, "error": "The receipt could not be authenticated."])
    }

    /// With the settings of a shop that only names its apps.
    private static func withShop(
        without setting: String? = nil, _ settings: [String: String] = [:], _ body: (WebhookHost) async throws -> Void
    ) async throws {
        try await Peer.with("webhook.py") { peer in
            var all = WebhookHost.settings(peer)
            for name in ["SATCHEL_APPLE_SANDBOX_RECEIPTS", "SATCHEL_QUOTAS", setting ?? ""] { all[name] = nil }
            all.merge(settings) { $1 }
            try await Suite.with(settings: all) { try await body(WebhookHost(suite: $0, peer: peer)) }
        }
    }

    @Test func withoutTheNamesOfItsAppsAShopUnlocksNothing() async throws {
        try await Self.withShop(without: "SATCHEL_APPLE_BUNDLE_IDS") { host in
            let (product, _) = try await Self.product(host)
            try await host.answer("apple", Self.valid(product, bundle: "stranger.example"))
            let refused = try await Self.validate(host, product, Self.receipt)
            #expect(refused.code == 119, "\(refused.text)")
            #expect(refused["error"]?.stringValue?.contains("SATCHEL_APPLE_BUNDLE_IDS") == true)
            #expect(host.calls("apple").isEmpty)
            for level in [" notice ", " warning "] {
                try await eventually("the log has a\(level)that names the setting") {
                    host.suite.logTails { $0.contains(level) && $0.contains("SATCHEL_APPLE_BUNDLE_IDS") } != ""
                }
            }
            let report = try await host.master.get("/security").text
            #expect(report.contains("Name the bundle ids of your apps in SATCHEL_APPLE_BUNDLE_IDS."))
        }
    }

    @Test func aReceiptOfTheSandboxUnlocksNothingUnlessAsked() async throws {
        try await Self.withShop { host in
            let (product, _) = try await Self.product(host)
            try await host.answer("apple", ["json": ["status": 21007]])
            try await host.answer("appleSandbox", Self.valid(product))
            let refused = try await Self.validate(host, product, Self.receipt)
            #expect(refused["status"] == 21007, "\(refused.text)")
            #expect(refused["name"] == nil)
            #expect(host.calls("appleSandbox").isEmpty)
            #expect(try await !host.master.get("/security").text.contains("Take SATCHEL_APPLE_SANDBOX_RECEIPTS away"))
        }
    }

    @Test func aClientAsksTheAppStoreNoFasterThanItsQuota() async throws {
        try await Self.withShop(["SATCHEL_APPLE_SANDBOX_RECEIPTS": "true"]) { host in
            let (product, file) = try await Self.product(host)
            try await host.answer("apple", ["json": ["status": 21007]])
            try await host.answer("appleSandbox", ["json": ["status": 21003]])
            let start = ContinuousClock.now
            let answers = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
                for _ in 1...80 { group.addTask { try await Self.validate(host, product, Self.receipt) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            // The quota is 60, and one more every ten seconds.
            let admittedMax = 61 + Int((ContinuousClock.now - start) / .seconds(10))
            let refused = answers.filter { $0.status == 429 }
            #expect(refused.count >= 80 - admittedMax && refused.allSatisfy { $0.code == 155 })
            #expect(refused.first?.headers.first(name: "Retry-After") != nil)
            #expect(host.calls("apple").count <= admittedMax)
            // The limit does not apply to an operator.
            try await host.answer("appleSandbox", Self.valid(product))
            let operators = try await host.master.call(
                .POST, "/validate_purchase", ["receipt": Self.receipt, "productIdentifier": .string(product)])
            #expect(operators["name"] == file, "\(operators.text)")
            try await eventually("the log names the setting") {
                host.suite.logTails { $0.contains("SATCHEL_APPLE_SANDBOX_RECEIPTS is on") } != ""
            }
            #expect(try await host.master.get("/security").text.contains("Take SATCHEL_APPLE_SANDBOX_RECEIPTS away"))
        }
    }

    @Test func aReceiptForSomethingElseBuysNothing() async throws {
        let host = try await WebhookHost.shared
        let (product, _) = try await Self.product(host)
        let orders = [
            Self.valid("another.product"), Self.valid(product, bundle: "stranger.example"),
            ["json": ["status": 0, "receipt": ["bundle_id": "shop.example", "in_app": []]]],
        ]
        for order in orders {
            try await host.answer("apple", order)
            let answer = try await Self.validate(host, product, Self.receipt)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.code == 146, "\(answer.text)")
        }
        let unknown = "shop.example.\(Names.random(8))"
        try await host.answer("apple", Self.valid(unknown))
        #expect(try await Self.validate(host, unknown, Self.receipt).code == 101)
        try await host.answer("apple", ["json": ["status": 21002]])
        let refused = try await Self.validate(host, product, Self.receipt)
        #expect(refused["status"] == 21002)
        #expect(refused["error"]?.stringValue?.contains("malformed") == true)
    }

    @Test func whatAppleDoesWrongIsNeverAPurchase() async throws {
        let host = try await WebhookHost.shared
        let (product, _) = try await Self.product(host)
        for (order, code) in [
            (["status": 500, "json": ["status": 0]], 2), (["status": 429], 2), (["how": "close"], 2),
            (["how": "half"], 2), (["how": "garbage"], 2), (["how": "slow", "seconds": 30], 2),
            (["how": "text", "text": "<html>"], 148), (["how": "text", "text": ""], 148),
            (["json": ["status": "0"]], 148),
            (["json": ["status": 0]], 148), (["json": ["status": 0, "receipt": "x"]], 148), (["status": 302], 148),
            (["how": "large"], 148),
        ] as [(JSON, Int)] {
            try await host.answer("apple", order)
            let answer = try await Self.validate(host, product, Self.receipt)
            #expect(answer.code == code, "\(order): \(answer.text)")
            #expect(answer.status == (code == 2 ? 503 : 400))
        }
    }

    @Test(
        arguments: [
            [:], ["receipt": "cmVjZWlwdA=="], ["productIdentifier": "x"], ["receipt": 5, "productIdentifier": "x"],
            ["receipt": "", "productIdentifier": "x"], ["receipt": ["$ne": ""], "productIdentifier": "x"],
            ["receipt": "cmVjZWlwdA==", "productIdentifier": ["$ne": ""]],
            ["receipt": "no base64!", "productIdentifier": "x"],
            ["receipt": ["__type": "Bytes", "base64": 7], "productIdentifier": "x"],
        ] as [JSON])
    func aQuestionWithoutItsPartsIsRefused(_ body: JSON) async throws {
        let host = try await WebhookHost.shared
        let asked = host.calls("apple").count
        let answer = try await ParseClient(host.suite).call(.POST, "/validate_purchase", body)
        #expect(answer.code == 107, "\(answer.text)")
        #expect(host.calls("apple").count == asked)
    }

    @Test func aProductHasWhatItsClassDemands() async throws {
        let host = try await WebhookHost.shared
        let (product, file) = try await Self.product(host)
        let whole: [String: JSON] = [
            "productIdentifier": .string("other.\(Names.random(8))"), "title": "T", "subtitle": "S", "order": 2,
            "icon": ["__type": "File", "name": file],
        ]
        for field in ["productIdentifier", "icon", "order", "title", "subtitle"] {
            let answer = try await host.master.create("_Product", .object(whole.filter { $0.key != field }))
            #expect(answer.code == 111)
            #expect(answer["error"] == .string("\(field) is required."))
        }
        let twice = whole.merging(["productIdentifier": .string(product)]) { $1 }
        #expect(try await host.master.create("_Product", .object(twice)).code == 137)
        let customer = try await Customer.signUp(host.suite).client
        #expect(try await customer.create("_Product", .object(whole)).code == 119)
        #expect(try await host.master.create("_Product", .object(whole)).status == 201)
    }
}
