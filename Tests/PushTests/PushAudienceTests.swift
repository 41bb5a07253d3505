import ObjectStore
import ParseProtocol
import PushService
import Testing

/// The number of devices in an audience, before anything is sent.
@Suite struct PushAudienceTests {
    private static func count(
        _ audience: JSON?, in store: ClassStore, lookingAt max: Int = Slice.scannedMax
    ) async throws -> JSON {
        let count = try AudienceCount(PromotionAudience(audience))
        return try await store.read { try count.read(from: $0, lookingAt: max) }
    }

    @Test func theDevicesThatCanBeReachedAreCounted() async throws {
        let fixture = try await PushStoreTests.Fixture()
        try await fixture.install(3, ["channels": ["news"]])
        try await fixture.install(2, ["deviceType": "android", "channels": ["news", "sale"]])
        try await fixture.store.write { transaction in
            _ = try transaction.create(
                "_Installation", ["deviceType": "ios", "channels": ["news"], "installationId": "noToken"],
                caller: .master)
        }
        let counts: [(JSON?, JSON)] = [
            (nil, 5), ("all", 5), (.null, 5), (["where": [:]], 5), (["channels": ["news"]], 5),
            (["channels": ["sale", "none"]], 2), (["channels": []], 0), (["where": ["deviceType": "ios"]], 3),
            (["where": ["deviceToken": "none"]], 0),
        ]
        for (audience, devices) in counts {
            let counted = try await Self.count(audience, in: fixture.store)
            #expect(counted == ["devices": devices, "isEstimate": false], "\(String(describing: audience))")
        }
        for audience in [
            [:], "some", 1, ["where": "x"], ["channels": ["not a name"]], ["channels": ["a"], "where": [:]],
            ["where": ["deviceType": ["$what": 1]]],
        ] as [JSON] {
            await #expect(throws: ParseError.self) { try await Self.count(audience, in: fixture.store) }
        }
    }

    @Test func aCallThatNamesNoAudienceReachesThatOfThePromotion() async throws {
        let fixture = try await PushStoreTests.Fixture()
        try await fixture.install(3, ["channels": ["news"]])
        try await fixture.install(2)
        let promotion: JSON = ["audience": ["channels": ["news"]]]
        for (named, devices) in [(nil, 3), (.null, 3), ("all", 5)] as [(JSON?, JSON)] {
            let count = try AudienceCount(PromotionAudience(named, of: promotion))
            let found = try await fixture.store.read { try count.read(from: $0) }
            #expect(found["devices"] == devices, "\(String(describing: named))")
        }
    }

    /// If there are more devices than the limit of checked ones, their proportion is extrapolated.
    @Test func manyDevicesAreEstimatedFromThoseThatWereLookedAt() async throws {
        let fixture = try await PushStoreTests.Fixture()
        // Alternates the types, because ids created together begin alike.
        for _ in 0..<20 {
            try await fixture.install(10)
            try await fixture.install(10, ["deviceType": "android"])
        }
        let some: JSON = ["where": ["deviceType": "android"]]
        #expect(try await Self.count(some, in: fixture.store, lookingAt: 400) == ["devices": 200, "isEstimate": false])
        let guess = try await Self.count(some, in: fixture.store, lookingAt: 100)
        #expect(guess["isEstimate"] == true)
        // Seven standard errors.
        #expect((60...340).contains(guess["devices"]?.intValue ?? 0), "\(guess)")
        let all = try await Self.count("all", in: fixture.store, lookingAt: 100)
        #expect(all == ["devices": 400, "isEstimate": true])
    }
}
