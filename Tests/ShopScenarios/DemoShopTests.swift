import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The demo shop is what clients see first: nothing in it tells how it was loaded, and loading it again changes
/// nothing.
@Suite struct DemoShopTests {
    private static let classes = ["Category", "Product", "Store", "Page", "Promotion", "ProductReview", "_User"]

    private func load(into suite: Suite, _ options: String...) async throws {
        _ = try await Command.run(
            [
                "\(checkoutDirectory)/.build/release/satchel-setup", "demo-shop", "--url", suite.url, "--data",
                "\(checkoutDirectory)/scripts/demo/shop.json",
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
            // As an earlier release left it. An update takes the mark away and loads nothing that the operator removed.
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

            // What an operator changed stays.
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

    /// Each finds that the role is not there and makes it: all but one are told that somebody was faster.
    @Test func severalFirstAdminsAtOnceShareTheirRole() async throws {
        try await Suite.with { suite in
            let file = NSTemporaryDirectory() + "password-\(Names.random(10))"
            defer { try? FileManager.default.removeItem(atPath: file) }
            try "a-long-secret\n".write(toFile: file, atomically: true, encoding: .utf8)
            let role = "role-\(Names.random(8))"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        _ = try await Command.run(
                            [
                                "\(checkoutDirectory)/.build/release/satchel-setup", "first-admin", "--url", suite.url,
                                "--username", "\(role)-\(number)@shop.example", "--password-file", file, "--role", role,
                            ], environment: ["SATCHEL_MASTER_KEY": Suite.masterKey])
                    }
                }
                try await group.waitForAll()
            }
            let master = ParseClient.master(suite)
            let roles = try await master.call(.GET, "/roles?where=%7B%22name%22:%22\(role)%22%7D").results
            let id = try #require(roles.first?["objectId"]?.stringValue)
            #expect(roles.count == 1)
            let members = try await master.find(
                "_User", ["$relatedTo": ["object": .pointer("_Role", id), "key": "users"]], ["limit": 100])
            #expect(members.results.count == 8)
        }
    }

    @Test(arguments: [
        ("nothing", "There is no command nothing; see satchel-setup --help."),
        ("demo-shop now", "\"now\" is no option."), ("demo-shop --unmark=yes", "There is no option --unmark=yes."),
        ("demo-shop --count 5", "There is no option --count."), ("demo-shop --url", "--url needs a value."),
        ("products", "--count is missing."), ("products --count=1e3", "--count must be between 0 and 5000000."),
        ("products --count 1 --count 2", "--count is there twice."),
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
