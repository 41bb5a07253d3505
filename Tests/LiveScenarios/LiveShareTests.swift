import ParseProtocol
import TestSupport
import Testing

/// A guest with many conditions and many writes: the cost of its events delays only its own. Id T2y of
/// docs/internals/hardening.md.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LiveShareTests {
    @Test func conditionsOfOneNetworkDelayItsOwnEvents() async throws {
        let settings = ["SATCHEL_TRUSTED_PROXIES": "127.0.0.1", "SATCHEL_QUOTAS": "off"]
        try await Suite.with(settings: settings) { suite in
            _ = try await ParseClient.master(suite).create("Note", ["n": 0])
            let guest = try await withThrowingTaskGroup { group in
                for number in 0..<12 {
                    group.addTask {
                        let live = try await LiveConnection.connect(suite, headers: ["X-Forwarded-For: 203.0.113.7"])
                        for id in 0..<100 {
                            let condition: JSON = [
                                "n": .int(Int64(id % 50)), "m": ["$ne": .int(Int64(number * 100 + id))],
                            ]
                            try await live.subscribe(Int64(id), "Note", condition)
                        }
                        return live
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let honest = try await LiveConnection.connect(suite, headers: ["X-Forwarded-For: 198.51.100.7"])
            try await honest.subscribe(1, "Note", ["isHonest": true])
            let writes = (0..<50).map { number -> JSON in
                ["method": "POST", "path": "/parse/classes/Note", "body": ["n": .int(Int64(number))]]
            }
            for _ in 0..<32 {
                let made = try await ParseClient(suite).call(.POST, "/batch", ["requests": .array(writes)])
                #expect(made.status == 200, "\(made.text)")
            }
            for _ in 0..<3 {
                let meter = StallMeter()
                _ = try await ParseClient(suite).create("Note", ["isHonest": true])
                #expect(try await honest.nextEvent(of: 1)["op"] == "create")
                let time = meter.elapsed
                #expect(time < .seconds(4), "\(time)")
            }
            // The guest's events arrive too, in order.
            let own = try #require(guest.first)
            _ = try await own.next { $0["op"] == "create" }
        }
    }
}
