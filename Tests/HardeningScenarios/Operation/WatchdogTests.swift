import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The watchdog (`compose/watchdog.py`) replaces a stopped process.
@Suite(.serialized) struct WatchdogTests {
    /// The replica that holds the writer's lock.
    private static func writer(_ suite: Suite, of service: String) async throws -> String {
        let log = try await Command.run([
            "bash", "-c", "grep -H 'This process is the writer' \"$0\"/logs/\(service)-*.log", suite.dataDirectory,
        ])
        let file = try #require(log.split(separator: ":").first.map(String.init))
        return URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
    }

    /// A stopped writer keeps its lock, so no other replica can write.
    @Test(.timeLimit(.minutes(10))) func aStoppedProcessIsReplacedWithinFiveSeconds() async throws {
        try await Suite.with(scale: "gateway=2,catalog=2", settings: Suite.inFiles) { suite in
            let client = ParseClient(suite)
            let made = try await client.create("Thing", ["a": 1])
            #expect(made.status == 201)
            let writer = try await Self.writer(suite, of: "catalog")

            // A short stop is intended and tolerated.
            let process = try #require(suite.processId(of: writer))
            #expect(Glibc.kill(process, SIGSTOP) == 0)
            try await Task.sleep(for: .milliseconds(500))
            #expect(Glibc.kill(process, SIGCONT) == 0)
            try await Task.sleep(for: .seconds(2))
            #expect(suite.processId(of: writer) == process)

            for replica in [writer, "gateway-1"] {
                let stopped = try #require(suite.processId(of: replica))
                #expect(Glibc.kill(stopped, SIGSTOP) == 0)
                defer { _ = Glibc.kill(stopped, SIGCONT) }
                let began = ContinuousClock.now
                try await eventually("\(replica) is another process", within: .seconds(20)) {
                    suite.processId(of: replica).map { $0 != stopped } ?? false
                }
                let changed = try await client.call(.PUT, "/classes/Thing/\(made.objectId)", ["a": 2])
                #expect(changed.status == 200, "\(changed.text)")
                #expect(ContinuousClock.now - began < .seconds(5), "\(replica): \(ContinuousClock.now - began)")
            }
        }
    }

    /// Only a stopped process counts. A process that computes, sleeps or waits is left alone, however long that lasts.
    @Test func onlyAStoppedProcessStandsStill() async throws {
        let program = """
            import importlib.util, os, signal, subprocess, sys, time
            spec = importlib.util.spec_from_file_location("watchdog", sys.argv[1])
            watchdog = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(watchdog)
            busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
            idle = subprocess.Popen(["sleep", "60"])
            still = subprocess.Popen(["sleep", "60"])
            try:
                still.send_signal(signal.SIGSTOP)
                time.sleep(0.3)
                since = {}
                assert watchdog.look(os.getpid(), since, 10.0) == []
                assert watchdog.look(os.getpid(), since, 11.4) == []
                assert watchdog.look(os.getpid(), since, 11.5) == [still.pid], since
                still.send_signal(signal.SIGCONT)
                time.sleep(0.3)
                assert watchdog.look(os.getpid(), since, 100.0) == []
                still.send_signal(signal.SIGSTOP)
                time.sleep(0.3)
                assert watchdog.look(os.getpid(), since, 101.0) == [], "The time begins anew."
            finally:
                for process in (*busy, idle, still):
                    process.kill()
            """
        _ = try await Command.run(["python3", "-B", "-c", program, "\(checkoutDirectory)/compose/watchdog.py"])
    }
}
