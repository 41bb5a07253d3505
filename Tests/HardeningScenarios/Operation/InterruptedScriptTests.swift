import Foundation
import ParseProtocol
import TestSupport
import Testing

/// When the process manager or a script is killed, the suite reports it and continues, and `scripts/up` repairs it.
@Suite(.serialized) struct InterruptedScriptTests {
    @Test(.timeLimit(.minutes(10))) func upRepairsWhatKilledScriptsAndManagersLeave() async throws {
        // Each request writes a log line, which no process reads when the manager is gone.
        let settings = Suite.inFiles.merging(["SATCHEL_LOG_REQUESTS": "true", "SATCHEL_LOG_LEVEL": "debug"]) { $1 }
        try await Suite.with(settings: settings) { suite in
            let made = try await ParseClient(suite).create("Thing", ["a": 1])
            #expect(made.status == 201)
            try await aKilledRestartLeavesNothing(suite)
            try await aServiceThatAKilledMoveStoppedIsStarted(suite)
            try await aKilledManagerIsNamed(suite)
            let found = try await ParseClient(suite).get("/classes/Thing/\(made.objectId)")
            #expect(found.status == 200)
        }
    }

    private func aKilledRestartLeavesNothing(_ suite: Suite) async throws {
        // Again if it ended before it was killed.
        for _ in 0..<10 where suite.processId(of: "crash-2") == nil {
            let restart = Task { try? await suite.script("restart", "crash") }
            try await eventually("the additional replica runs") { suite.processId(of: "crash-2") != nil }
            // Nothing has the name when the script has ended.
            _ = try? await suite.command([
                "bash", "-c", "pkill -KILL -f \"^bash $0/scripts/restart crash\"", checkoutDirectory,
            ])
            _ = await restart.value
        }
        #expect(suite.processId(of: "crash-2") != nil, "It is killed in the middle.")
        _ = try await suite.script("up", "--no-build", "--no-demo")
        #expect(suite.processId(of: "crash-2") == nil)
    }

    private func aServiceThatAKilledMoveStoppedIsStarted(_ suite: Suite) async throws {
        let interrupted = """
            supervisorctl -c "$SATCHEL_DATA/supervisord.conf" stop crash-1
            : >"$SATCHEL_DATA/crash.moving"
            """
        _ = try await suite.command(["bash", "-c", interrupted])
        #expect(suite.processId(of: "crash-1") == nil)
        _ = try await suite.script("up", "--no-build", "--no-demo")
        #expect(suite.processId(of: "crash-1") != nil)
        #expect(!FileManager.default.fileExists(atPath: suite.dataDirectory + "/crash.moving"))
    }

    private func aKilledManagerIsNamed(_ suite: Suite) async throws {
        let manager = try #require(suite.managerId)
        #expect(Glibc.kill(manager, SIGKILL) == 0)
        let client = ParseClient(suite)
        try await eventually("health names it", within: .seconds(5)) {
            let health = try await client.get("/health")
            return health.status == 200 && health["status"] == "degraded"
                && health["problem"]?.stringValue?.contains("process manager") == true
        }
        for number in 0..<5 {
            let made = try await client.create("Thing", ["a": .int(Int64(number))])
            #expect(made.status == 201, "Customers are served: \(made.text)")
        }
        let status = await #expect(throws: Command.Failed.self) { try await suite.script("status") }
        #expect(status?.description.contains("process manager was killed") == true, "\(status?.description ?? "")")
        _ = try await suite.script("up", "--no-build", "--no-demo")
        try await suite.untilHealthy()
        #expect(suite.managerId != manager)
        #expect(try await suite.script("status").contains("healthy: "))
    }
}
