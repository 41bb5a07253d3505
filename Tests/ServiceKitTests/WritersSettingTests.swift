import ObjectStore
import ProcessKit
import ServiceKit
import Testing

/// Which replicas of a service write, by the settings. No I/O.
@Suite struct WritersSettingTests {
    private static let server = "postgresql://shop@db/shop"

    private func writers(_ service: String, _ settings: [String: String]) throws -> StoreWriters {
        let settings = Settings(settings.merging(["SATCHEL_DATA": "/tmp/x"]) { $1 })
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

    @Test func whatIsSaidOfAllConcernsThoseThatCan() throws {
        #expect(try writers("catalog", ["SATCHEL_WRITERS": "every"]) == .one, "It is in SQLite.")
        #expect(try writers("cloud", ["SATCHEL_DATABASE": Self.server, "SATCHEL_WRITERS": "every"]) == .one)
        let plain = ["SATCHEL_DATABASE": Self.server, "SATCHEL_WRITERS": "every", "SATCHEL_POSTGRESQL": "plain"]
        #expect(try writers("catalog", plain) == .one)
        #expect(try writers("catalog", plain.merging(["SATCHEL_CATALOG_POSTGRESQL": "full"]) { $1 }) == .every)
    }

    @Test(arguments: [
        ("catalog", ["SATCHEL_CATALOG_WRITERS": "every"]),
        ("cloud", ["SATCHEL_CLOUD_WRITERS": "every", "SATCHEL_DATABASE": server]),
        ("catalog", ["SATCHEL_CATALOG_WRITERS": "all", "SATCHEL_DATABASE": server]),
        ("catalog", ["SATCHEL_WRITERS": "two", "SATCHEL_DATABASE": server]),
        (
            "catalog",
            ["SATCHEL_CATALOG_WRITERS": "every", "SATCHEL_DATABASE": server, "SATCHEL_CATALOG_POSTGRESQL": "plain"]
        ),
        ("catalog", ["SATCHEL_WRITERS": "every", "SATCHEL_DATABASE": server, "SATCHEL_POSTGRESQL": "simple"]),
    ])
    func whatCannotBeEndsTheStart(service: String, settings: [String: String]) {
        #expect(throws: StartupProblem.self) { _ = try writers(service, settings) }
    }
}
