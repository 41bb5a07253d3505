import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The watchdog (`compose/watchdog.py`) replaces a stopped process.
@Suite(.serialized) struct WatchdogTests {
    /// The replica that logged last that it holds the writer's lock.
    private static func writer(_ suite: Suite, of service: String) async throws -> String {
        let log = try await Command.run([
            "bash", "-c",
            "grep -H 'This process is the writer' \"$0\"/logs/\(service)-*.log | sort -t : -k 2 | tail -n 1",
            suite.dataDirectory,
        ])
        let file = try #require(log.split(separator: ":").first.map(String.init))
        return URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
    }

    /// Stops a replica.
    /// - Parameter path: an object.
    /// - Returns: the time until another process runs in its place and the object can be changed.
    private static func timeToReplace(_ replica: String, of suite: Suite, _ path: String) async throws -> Duration {
        let stopped = try #require(suite.processId(of: replica))
        #expect(Glibc.kill(stopped, SIGSTOP) == 0)
        defer { _ = Glibc.kill(stopped, SIGCONT) }
        let meter = StallMeter()
        try await eventually("\(replica) is another process", within: .seconds(20)) {
            suite.processId(of: replica).map { $0 != stopped } ?? false
        }
        let changed = try await ParseClient(suite).call(.PUT, path, ["a": 2])
        #expect(changed.status == 200, "\(changed.text)")
        return meter.elapsed
    }

    private static func aShortStopIsTolerated(_ suite: Suite) async throws {
        var wasShort = false
        // A stop during which the machine stands still is no short one.
        for _ in 0..<10 where !wasShort {
            let writer = try await Self.writer(suite, of: "catalog")
            let process = try #require(suite.processId(of: writer))
            let start = ContinuousClock.now
            #expect(Glibc.kill(process, SIGSTOP) == 0)
            try await Task.sleep(for: .milliseconds(500))
            #expect(Glibc.kill(process, SIGCONT) == 0)
            wasShort = .now - start < .seconds(1)
            try await Task.sleep(for: .seconds(2))
            if wasShort { #expect(suite.processId(of: writer) == process) }
            try await suite.untilHealthy(replicas: ["catalog": 2])
        }
        #expect(wasShort)
    }

    /// A stopped writer keeps its lock, so no other replica can write.
    @Test(.timeLimit(.minutes(10))) func aStoppedProcessIsReplacedWithinFiveSeconds() async throws {
        try await Suite.with(scale: "gateway=2,catalog=2", settings: Suite.inFiles) { suite in
            let client = ParseClient(suite)
            let made = try await client.create("Thing", ["a": 1])
            #expect(made.status == 201)
            try await Self.aShortStopIsTolerated(suite)

            for service in ["catalog", "gateway"] {
                // The quickest of up to three: on a busy machine the new process may start slowly.
                var least = Duration.seconds(60)
                for _ in 0..<3 where least >= .seconds(5) {
                    let replica = try await service == "catalog" ? Self.writer(suite, of: service) : "gateway-1"
                    let took = try await Self.timeToReplace(replica, of: suite, "/classes/Thing/\(made.objectId)")
                    least = min(least, took)
                }
                #expect(least < .seconds(5), "\(service)")
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
            def send(number):
                still.send_signal(number)
                stopped = number == signal.SIGSTOP
                for _ in range(600):
                    time.sleep(0.1)
                    with open(f"/proc/{still.pid}/stat") as file:
                        if (file.read().rpartition(")")[2].split()[0] == "T") == stopped:
                            return
                raise AssertionError(f"{number} had no effect.")
            try:
                send(signal.SIGSTOP)
                since = {}
                assert watchdog.look(os.getpid(), since, 10.0) == []
                assert watchdog.look(os.getpid(), since, 11.4) == []
                assert watchdog.look(os.getpid(), since, 11.5) == [still.pid], since
                send(signal.SIGCONT)
                assert watchdog.look(os.getpid(), since, 100.0) == []
                send(signal.SIGSTOP)
                assert watchdog.look(os.getpid(), since, 101.0) == [], "The time begins anew."
            finally:
                for process in (*busy, idle, still):
                    process.kill()
            """
        _ = try await Command.run(["python3", "-B", "-c", program, "\(checkoutDirectory)/compose/watchdog.py"])
    }
}
