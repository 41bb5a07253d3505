import ParseProtocol
import Testing

@testable import MoveIn

/// The switch, as far as this program decides about it.
@Suite struct SwitchRunTests {
    private static let failure = MoveState.Failure(className: "Item", objectId: "i1", code: 111, error: "Not a Number.")

    private static func state(
        _ phase: MoveState.Phase, applied: Int = 3, failures: [MoveState.Failure] = [], failed: Int = 0
    ) -> MoveState {
        let service = MoveState.Service(
            name: "catalog", phase: phase, applied: applied, rows: 9, failures: failures, failed: failed)
        return MoveState(phase: phase, services: [service])
    }

    @Test func aSwitchIsFollowedToItsEnd() async throws {
        let suite = MemorySuite(states: [Self.state(.switching), Self.state(.switching), Self.state(.switched)])
        let end = try await SwitchRun(suite: suite, rehearses: false, pause: .zero).run()
        #expect(end.phase == .switched)
        let rehearsal = MemorySuite(states: [Self.state(.switching), Self.state(.staged, applied: 9)])
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

    @Test func aRehearsalThatLeftAServiceOutIsNone() async throws {
        // It was killed meanwhile.
        let killed = MemorySuite(states: [Self.state(.switching), Self.state(.staged, applied: 0)])
        await #expect(throws: MoveInError.self) {
            try await SwitchRun(suite: killed, rehearses: true, pause: .zero).run()
        }
        let failed = Self.state(.failed, failures: [Self.failure], failed: 1)
        let refusing = MemorySuite(states: [Self.state(.switching), failed])
        #expect(try await SwitchRun(suite: refusing, rehearses: true, pause: .zero).run() == failed)

        // The next service has not begun yet.
        var half = failed
        half.services.append(Self.state(.staged, applied: 0).services[0])
        var whole = failed
        whole.services.append(Self.state(.staged, applied: 9).services[0])
        let slow = MemorySuite(states: [half, Self.state(.switching), whole])
        #expect(try await SwitchRun(suite: slow, rehearses: true, pause: .zero).run() == whole)
    }

    @Test func anInterruptedSwitchIsAwaited() async throws {
        let phases: [MoveState.Phase] = [.switched, .staged, .failed]
        for last in phases {
            let suite = MemorySuite(states: [Self.state(.switching), Self.state(.switching), Self.state(last)])
            #expect(try await SwitchRun.isSwitched(suite, pause: .zero) == (last == .switched))
        }
    }

    @Test func settingsAreAppliedAgain() async throws {
        var server = MemoryServer()
        server.add("_GlobalConfig", "1", ["params": ["open": "x"]])
        server.add("_Hooks", "h1", ["functionName": "hello", "url": "https://a.example/1"])
        server.add("_Hooks", "h2", ["className": "Item", "triggerName": "beforeSave", "url": "https://a.example/2"])
        let suite = MemorySuite()
        #expect(try await Settings.apply(from: server, Mapping(), to: suite) == [])
        #expect(try await Settings.apply(from: server, Mapping(), to: suite) == [])
        #expect(
            await suite.settings.suffix(3).map(\.path) == [
                "/config", "/hooks/functions/hello", "/hooks/triggers/Item/beforeSave",
            ])
    }

    @Test func configHasTheNewNamesOfFilesAndClasses() async throws {
        var server = MemoryServer()
        server.add(
            "_GlobalConfig", "1",
            [
                "params": [
                    "banner": ["__type": "File", "name": "banner.png"], "first": .pointer("Item", "i1"),
                ]
            ])
        server.add("_Hooks", "h1", ["functionName": "hello", "url": "https://a.example/1"])
        let place = SourcePlace(file: "_Hooks.bson", offset: 7)
        server.refused = [RefusedRow(className: "_Hooks", objectId: nil, place: place, reason: "It is cut off.")]
        let mapping = try Mapping(json: ["classes": ["Item": "Thing"]])
        let files = MemoryFileSuite()
        let mover = FileMover(shelves: [MemoryShelf(["banner.png": [1]])], suite: files, lack: { _ in })
        let suite = MemorySuite()
        let refused = try await Settings.apply(
            from: server, mapping, to: suite, withFiles: { try await mover.moved($0) })
        #expect(refused == ["_Hooks (_Hooks.bson, byte 7): It is cut off."])
        let stored = OldFile(name: "banner.png").storedName
        #expect(await Array(files.files.keys) == [stored])
        let expected: [JSON] = [
            ["banner": ["__type": "File", "name": .string(stored)]], ["first": .pointer("Thing", "i1")],
        ]
        #expect(await suite.settings.compactMap { $0.body["params"] } == expected)
        #expect(await suite.settings.count == 3)
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
