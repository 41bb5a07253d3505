import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The host's time is set while the shop runs: by NTP, by hand, by a virtual machine that was moved.
@Suite(.timeLimit(.minutes(10))) struct ClockStepTests {
    /// A library that adds the seconds in a file to the wall clock of a process, as setting the host's time would.
    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        #include <sys/syscall.h>
        int clock_gettime(clockid_t clock, struct timespec *time) {
            long result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && clock == CLOCK_REALTIME) {
                int file = open(getenv("STEP_FILE"), O_RDONLY | O_CLOEXEC);
                if (file >= 0) {
                    char text[16] = {0};
                    if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atoi(text);
                    close(file);
                }
            }
            return (int)result;
        }
        """

    @Test("T10b: a step of the wall clock by 7 s ends no lane and no request, forwards or back")
    func aStepOfTheWallClockEndsNothing() async throws {
        let folder = "/tmp/satchel-step-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Self.source.write(toFile: folder + "/step.c", atomically: true, encoding: .utf8)
        _ = try await Command.run(["clang", "-shared", "-fPIC", "-O1", "-o", folder + "/step.so", folder + "/step.c"])
        try await Suite.with(settings: ["LD_PRELOAD": folder + "/step.so", "STEP_FILE": folder + "/seconds"]) { suite in
            let client = ParseClient(suite)
            #expect(try await client.create("Item", ["n": 1]).status == 201)
            for seconds in [7, 0, -7, 60] {
                try "\(seconds)".write(toFile: folder + "/seconds", atomically: true, encoding: .utf8)
                let end = ContinuousClock.now + .milliseconds(1500)
                while ContinuousClock.now < end {
                    let health = try await client.get("/health")
                    #expect(health.status == 200, "\(seconds): \(health.text)")
                    #expect(try await client.find("Item").status == 200)
                    #expect(try await client.create("Item", ["n": 2]).status == 201)
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        }
    }
}
