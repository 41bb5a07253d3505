import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The demo shop is the first thing that clients see: its data does not show how it was loaded, and loading it again
/// changes nothing.
@Suite struct DemoShopTests {
    private static let classes = ["Category", "Product", "Store", "Page", "Promotion", "ProductReview", "_User"]

    private func load(into suite: Suite, _ options: String...) async throws {
        _ = try await Command.run(
            [
                "\(checkoutDirectory)/.build/release/satchel-setup", "demo-shop", "--url", suite.url, "--data",
                "\(checkoutDirectory)/scripts/lib/demo/shop.json",
            ] + options, environment: ["SATCHEL_MASTER_KEY": Suite.masterKey])
    }

    private func counts(_ master: ParseClient) async throws -> [JSON] {
        var counts: [JSON] = []
        for className in Self.classes {
            counts.append(try await master.find(className, [:], ["limit": 0, "count": 1])["count"] ?? .null)
        }
        return counts
    }

    @Test func aLoadCanBeRepeatedAndLeavesNoMark() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            // As an earlier release left it. An update removes the marker and does not reload what the operator
            // removed.
            let old = try await master.create("Category", ["title": "Ansgarde Lab", "demoKey": "ansgarde-lab"])
            let own = try await master.create("Category", ["title": "Our own"])
            try await load(into: suite, "--unmark")
            let stored = try await master.get("/classes/Category/\(old.objectId)")
            #expect(stored["title"] == "Ansgarde Lab")
            #expect(stored["demoKey"] == nil)
            #expect(try await counts(master).prefix(2) == [2, 0])

            _ = try await master.call(.PUT, "/classes/Category/\(old.objectId)", ["demoKey": "ansgarde-lab"])
            try await load(into: suite)
            let first = try await counts(master)
            #expect(first.prefix(3) == [8, 210, 20], "\(first)")
            let serum = try await master.find("Product", ["name": "Barrier Repair Serum"]).results
            #expect(serum.count == 1)
            #expect(serum.first?["brand"] == .pointer("Category", old.objectId))

            let pictures = try await master.find("Product", [:], ["limit": 1000]).results.compactMap {
                $0["thumbnail"]?["name"]?.stringValue
            }
            #expect(Set(pictures).count == 210)
            let offers = try await master.find("Promotion", ["image": ["$exists": true]]).results
            #expect(offers.count == 3)
            let codes = offers.compactMap { $0["discountCode"]?.stringValue }
            let code = try #require(codes.first)
            #expect(try await master.run("discountCodes", ["discountCode": .string(code)]).result["count"] == 1)

            // The operator's changes remain.
            let id = serum.first?.text("objectId") ?? ""
            _ = try await master.call(.PUT, "/classes/Product/\(id)", ["name": "Renamed", "unitPrice": 77])
            try await load(into: suite)
            #expect(try await counts(master) == first)
            let renamed = try await master.get("/classes/Product/\(id)")
            #expect(renamed["name"] == "Renamed")
            #expect(renamed["unitPrice"] == 77)
            #expect(try await master.get("/classes/Category/\(own.objectId)").status == 200)

            for className in Self.classes {
                #expect(try await master.get("/schemas/\(className)")["fields"]?["demoKey"] == nil, "\(className)")
                let rows = try await master.find(className, [:], ["limit": 1000]).results
                #expect(!rows.isEmpty, "\(className)")
                #expect(rows.allSatisfy { $0["demoKey"] == nil }, "\(className)")
            }
        }
    }

    @Test func everyProductBrandAndPromotionHasItsOwnPicture() throws {
        let folder = "\(checkoutDirectory)/scripts/lib/demo"
        let shop = try JSON(parsing: Array(FileManager.default.contents(atPath: "\(folder)/shop.json") ?? Data()))
        let rows = ["categories", "products", "promotions"].flatMap { shop[$0]?.arrayValue ?? [] }
        let pictures = rows.map {
            FileManager.default.contents(atPath: "\(folder)/pictures/\($0.text("key")).webp") ?? Data()
        }
        #expect(pictures.allSatisfy { $0.dropFirst(8).starts(with: Array("WEBP".utf8)) })
        #expect(Set(pictures).count == rows.count)
        #expect(pictures.map(\.count).reduce(0, +) < 3 << 20)
    }

    /// Another process creates the role between the check and the attempt, or the answer to an attempt was lost.
    @Test func theFirstAdminJoinsARoleThatWasMadeMeanwhile() async throws {
        try await Peer.with("taken_role.py") { peer in
            let file = NSTemporaryDirectory() + "password-\(Names.random(10))"
            defer { try? FileManager.default.removeItem(atPath: file) }
            try "a-long-secret\n".write(toFile: file, atomically: true, encoding: .utf8)
            _ = try await Command.run(
                [
                    "\(checkoutDirectory)/.build/release/satchel-setup", "first-admin", "--url", "\(peer.url)/parse",
                    "--username", "ann@shop.example", "--password-file", file,
                ], environment: ["SATCHEL_MASTER_KEY": "any"])
            #expect(
                peer.reports().map { "\($0.text("method")) \($0.text("path"))" } == [
                    "POST /parse/users", "GET /parse/roles", "POST /parse/roles", "GET /parse/roles",
                    "PUT /parse/roles/role000001",
                ])
        }
    }

    @Test(arguments: [
        ("nothing", "There is no command nothing; see satchel-setup --help."),
        ("demo-shop now", "\"now\" is not an option."), ("demo-shop --unmark=yes", "There is no option --unmark=yes."),
        ("demo-shop --count 5", "There is no option --count."), ("demo-shop --url", "--url needs a value."),
        ("products", "--count is missing."), ("products --count=1e3", "--count must be between 0 and 5000000."),
        ("products --count 1 --count 2", "--count is given twice."),
        ("first-admin --username ann", "--password-file is missing."),
        ("first-admin --username=ann --password-file=/nowhere", "Cannot read the password file /nowhere."),
    ]) func theToolNamesWhatItCannotTake(_ words: String, _ problem: String) async {
        let failure = await #expect(throws: Command.Failed.self) {
            _ = try await Command.run(
                ["\(checkoutDirectory)/.build/release/satchel-setup"] + words.split(separator: " ").map(String.init))
        }
        #expect(failure?.description.hasSuffix(" ended with 1:\nError: \(problem)\n") == true, "\(failure as Any)")
    }
}
