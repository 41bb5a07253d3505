import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A gateway without free file descriptors waits and continues when some are free.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DescriptorTests {
    private static let request = "GET /parse/health HTTP/1.1\nHost: x"

    private static func isServed(_ connection: RawConnection, within milliseconds: Int = 5000) -> Bool {
        connection.send(head: request)
        return connection.read(within: milliseconds)?.hasPrefix("HTTP/1.1 200") ?? false
    }

    @Test func connectionsPastTheDescriptorsWaitAndCostNothing() async throws {
        try await Suite.with { suite in
            let pid = try #require(suite.processId(of: "gateway-1"))
            let used = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
            _ = try await Command.run(["prlimit", "--pid", "\(pid)", "--nofile=\(used + 80)"])
            let kept = try RawConnection(suite)
            #expect(Self.isServed(kept))
            var crowd = try (0..<120).map { _ in try RawConnection(suite, from: "127.0.0.2") }
            let late = try RawConnection(suite, from: "127.1.0.1")
            #expect(!Self.isServed(late, within: 500), "All descriptors that clients may have are used.")

            var seconds = Double.infinity
            // The least of up to three rounds: a stand-still of the machine may count as the process's time.
            for _ in 0..<3 where seconds >= 0.5 {
                let start = try ProcessorReading(suite, "gateway-1").seconds
                for _ in 0..<5 {
                    #expect(Self.isServed(kept))
                    try await Task.sleep(for: .milliseconds(400))
                }
                let end = try ProcessorReading(suite, "gateway-1").seconds
                seconds = min(seconds, end - start)
            }
            #expect(seconds < 0.5, "The gateway used \(seconds) s of a processor in 2 s.")
            // Meanwhile, restarted services connect to it.
            try await suite.restart("catalog-1")
            try await eventually("the catalog is there again") {
                kept.send(head: "GET /parse/classes/Product HTTP/1.1\nHost: x\nX-Parse-Application-Id: satchel")
                return kept.read(within: 5000)?.hasPrefix("HTTP/1.1 200") ?? false
            }

            crowd.removeAll()
            // The answer to the request that it sent earlier.
            #expect(late.read(within: 5000)?.hasPrefix("HTTP/1.1 200") ?? false)
            #expect(Self.isServed(try RawConnection(suite, from: "127.1.0.2")))
            try await eventually("the log names the limit") {
                suite.logTails { $0.contains("file descriptors") } != ""
            }
            let log = suite.logTails { $0.contains("file descriptors") }
            #expect(log.split(separator: "\n").count { $0.contains("file descriptors") } == 1, "\(log)")
        }
    }
}
