import ObjectStore
import ProcessKit
import ServiceKit
import Testing

/// Which replicas of a service write, depending on the settings. No I/O.
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
