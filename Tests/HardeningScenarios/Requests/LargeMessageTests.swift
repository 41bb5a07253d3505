import ParseProtocol
import TestSupport
import Testing

/// Large WebSocket messages, which share the fair queue of large request bodies.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LargeMessageTests {
    @Test func largeMessagesOfOneClientLeaveReadsQuick() async throws {
        try await Suite.with(settings: PlacedClient.settings) { suite in
            let made = try await ParseClient.master(suite).create("Note", ["n": 1])
            let texts = JSON.array(Array(repeating: "t", count: 15_000))
            let message = LiveConnection.frame(
                JSON.object([
                    "op": "subscribe", "requestId": 1, "query": ["className": "Note", "where": ["a": ["$in": texts]]],
                ]).serialized)
            let attackers = try await withThrowingTaskGroup { group in
                for _ in 0..<48 {
                    group.addTask { try await LiveConnection(suite, headers: ["X-Forwarded-For: 203.0.113.7"]) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let honest = PlacedClient(suite, at: "198.51.100.7")
            let times = try await CostlyRequests.times {
                let answer = try await honest.call(.GET, "/classes/Note/\(made.objectId)")
                return answer.status == 200 ? nil : answer.text
            } during: {
                for _ in 0..<8 {
                    for attacker in attackers where !attacker.isClosed { try? await attacker.send(raw: message) }
                }
                try await Task.sleep(for: .seconds(3))
            }
            #expect(times.failures.isEmpty, "\(times)")
            #expect(times.percentile(95) < 1500, "\(times)")
            let live = try await LiveConnection.connect(suite)
            #expect(try await live.subscribe(1, "Note")["op"] == "subscribed")
        }
    }
}
