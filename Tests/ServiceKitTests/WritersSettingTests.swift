import Foundation
import ObjectStore
import ProcessKit
import ServiceKit
import Testing

/// Which replicas of a service write, depending on the settings.
@Suite struct WritersSettingTests {
    private static let server = "postgresql://shop@db/shop"

    private func writers(
        _ service: String, _ settings: [String: String], data: String = "/tmp/x"
    ) throws -> StoreWriters {
        let settings = Settings(settings.merging(["SATCHEL_DATA": data]) { $1 })
        return try ServiceConfiguration(service: service, settings: settings).writers(ServicePlan(name: service))
    }

    @Test func oneWritesUnlessASettingSaysOtherwise() throws {
        #expect(try writers("catalog", [:]) == .one)
        #expect(try writers("catalog", ["SATCHEL_DATABASE": Self.server]) == .one)
        #expect(try writers("catalog", ["SATCHEL_DATABASE": Self.server, "SATCHEL_WRITERS": "one"]) == .one)
    }

    @Test(arguments: ["SATCHEL_WRITERS", "SATCHEL_CATALOG_WRITERS"])
    func everyReplicaOfTheCatalogWritesInPostgreSQL(setting: String) throws {
        #expect(try writers("catalog", ["SATCHEL_CATALOG_DATABASE": Self.server, setting: "every"]) == .every)
    }

    @Test func theServicesOwnSettingCounts() throws {
        let settings = [
            "SATCHEL_DATABASE": Self.server, "SATCHEL_WRITERS": "every", "SATCHEL_CATALOG_WRITERS": "one",
        ]
        #expect(try writers("catalog", settings) == .one)
    }

    @Test func aGlobalWritersSettingAppliesWherePossible() throws {
        #expect(try writers("catalog", ["SATCHEL_WRITERS": "every"]) == .one, "It is in SQLite.")
        #expect(try writers("cloud", ["SATCHEL_DATABASE": Self.server, "SATCHEL_WRITERS": "every"]) == .one)
    }

    @Test(arguments: [
        ("catalog", ["SATCHEL_CATALOG_WRITERS": "every"]),
        ("cloud", ["SATCHEL_CLOUD_WRITERS": "every", "SATCHEL_DATABASE": server]),
        ("catalog", ["SATCHEL_CATALOG_WRITERS": "all", "SATCHEL_DATABASE": server]),
        ("catalog", ["SATCHEL_WRITERS": "two", "SATCHEL_DATABASE": server]),
    ])
    func whatCannotBeEndsTheStart(service: String, settings: [String: String]) {
        #expect(throws: StartupProblem.self) { _ = try writers(service, settings) }
    }

    /// The settings may still name the place where the data were before `scripts/move`.
    @Test func aPlaceThatCannotBeReadEndsTheStart() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "satchel-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = folder.appending(path: "catalog.database")
        // A folder in place of the file: even root cannot read it as a file.
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let settings = ["SATCHEL_WRITERS": "every"]
        let problem = #expect(throws: StartupProblem.self) { _ = try writers("catalog", settings, data: folder.path) }
        #expect(problem?.description.contains("catalog.database cannot be read") == true)
        #expect(try writers("orders", settings, data: folder.path) == .one)
    }

    /// The dialect `plain` was removed; its default, `full`, is ignored.
    @Test func aStartWithTheDialectPlainStops() throws {
        for name in ["SATCHEL_POSTGRESQL", "SATCHEL_CATALOG_POSTGRESQL"] {
            let problem = #expect(throws: StartupProblem.self) { _ = try writers("catalog", [name: "plain"]) }
            let text = try #require(problem).description
            #expect(text.contains("\(name)=plain") && text.contains("unset it") && text.contains("upgrading.md"))
            #expect(try writers("catalog", [name: "full"]) == .one)
        }
        let settings = ["SATCHEL_POSTGRESQL": "plain", "SATCHEL_CATALOG_POSTGRESQL": "full"]
        #expect(try writers("catalog", settings) == .one, "The service's own setting counts first.")
    }
}
