import ParseProtocol
import Testing

@testable import MoveIn

/// The switch, as far as this program decides about it.
@Suite struct SwitchRunTests {
    private static let failure = MoveState.Failure(className: "Item", objectId: "i1", code: 111, error: "Not a Number.")

    private static func state(
        _ phase: MoveState.Phase, failures: [MoveState.Failure] = [], failed: Int = 0
    ) -> MoveState {
        let service = MoveState.Service(
            name: "catalog", phase: phase, applied: 3, rows: 9, failures: failures, failed: failed)
        return MoveState(phase: phase, services: [service])
    }

    @Test func aSwitchIsFollowedToItsEnd() async throws {
        let suite = MemorySuite(states: [Self.state(.switching), Self.state(.switching), Self.state(.switched)])
        let end = try await SwitchRun(suite: suite, rehearses: false, pause: .zero).run()
        #expect(end.phase == .switched)
        let rehearsal = MemorySuite(states: [Self.state(.switching), Self.state(.staged)])
        #expect(try await SwitchRun(suite: rehearsal, rehearses: true, pause: .zero).run().phase == .staged)
    }

    @Test func aLostAnswerIsNoFailure() async throws {
        let suite = MemorySuite(
            states: [Self.state(.staged), Self.state(.switching), Self.state(.switched)], losesStart: true)
        #expect(try await SwitchRun(suite: suite, rehearses: false, pause: .zero).run().phase == .switched)
        let idle = MemorySuite(states: [Self.state(.staged)], losesStart: true)
        await #expect(throws: MoveInError.self) {
            try await SwitchRun(suite: idle, rehearses: false, pause: .zero).run()
        }
    }

    @Test func failuresAreShownWithARemedy() {
        let state = Self.state(.failed, failures: [Self.failure], failed: 120)
        #expect(state.failed == 120)
        #expect(state.text.contains("Item i1: Not a Number. (code 111)"))
        #expect(state.text.contains("--map"))
        #expect(state.text.contains("and 119 more"))
    }

    @Test func theStateIsRead() throws {
        let json: JSON = [
            "phase": "failed", "classes": [["className": "Item", "service": "catalog", "rows": 2, "bytes": 80]],
            "services": [
                [
                    "service": "catalog", "phase": "failed", "applied": 3, "rows": 9, "failed": 120,
                    "failures": [["className": "Item", "objectId": "i1", "code": 111, "error": "Not a Number."]],
                ]
            ],
        ]
        var expected = Self.state(.failed, failures: [Self.failure], failed: 120)
        expected.classes = [MoveState.StagedClass(name: "Item", rows: 2, bytes: 80)]
        #expect(try MoveState(json: json) == expected)
        #expect(throws: MoveInError.self) { try MoveState(json: ["phase": "dancing"]) }
    }

    @Test func configAndWebhooksAreAppliedOneByOne() async throws {
        var server = MemoryServer()
        server.add(
            "_GlobalConfig", "1",
            ["params": ["refused": 1, "hidden": [2], "open": "x"], "masterKeyOnly": ["hidden": true, "open": false]])
        server.add("_Hooks", "h1", ["functionName": "hello", "url": "https://a.example/1"])
        server.add("_Hooks", "h2", ["className": "Item", "triggerName": "beforeSave", "url": "https://a.example/2"])
        server.add("_Hooks", "h3", ["className": "Log", "triggerName": "beforeSave", "url": "https://a.example/3"])
        let mapping = try Mapping(json: ["classes": ["Item": "Thing", "Log": .null]])
        let suite = MemorySuite()
        let refused = try await Settings.apply(from: server, mapping, to: suite)
        #expect(refused == ["Config refused: no such name"])
        #expect(
            await suite.settings.map(\.body) == [
                ["params": ["hidden": [2]], "masterKeyOnly": ["hidden": true]], ["params": ["open": "x"]],
                ["functionName": "hello", "url": "https://a.example/1"],
                ["className": "Thing", "triggerName": "beforeSave", "url": "https://a.example/2"],
            ])
    }
}
