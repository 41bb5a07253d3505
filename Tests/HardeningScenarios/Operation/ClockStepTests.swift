import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The host's clock is set while the shop runs: by NTP, by hand, or after a virtual machine was moved.
@Suite(.timeLimit(.minutes(10))) struct ClockStepTests {
    /// A library that adds the number of seconds in a file to a process's wall clock, which simulates setting the
    /// host's clock.
    private static let source = checkoutDirectory + "/scripts/lib/chaos/step.c"

    /// The settings of a suite whose clock is controlled by a file in a temporary folder.
    private static func withClock(
        _ body: (_ settings: [String: String], _ file: String) async throws -> Void
    )
        async throws
    {
        let folder = "/tmp/satchel-step-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try await Command.run(["clang", "-shared", "-fPIC", "-O1", "-o", folder + "/step.so", Self.source])
        let file = folder + "/seconds"
        try await body(["LD_PRELOAD": folder + "/step.so", "STEP_FILE": file], file)
    }

    @Test("T10b: a step of the wall clock by 7 s ends no lane and no request, forwards or back")
    func aStepOfTheWallClockEndsNothing() async throws {
        try await Self.withClock { settings, file in
            try await Suite.with(settings: settings) { suite in
                let client = ParseClient(suite)
                #expect(try await client.create("Item", ["n": 1]).status == 201)
                for seconds in [7, 0, -7, 60] {
                    try "\(seconds)".write(toFile: file, atomically: true, encoding: .utf8)
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

    @Test("T10c: a mail that failed while the clock was 40 days ahead is sent when the clock is right again")
    func aClockThatIsSetBackHoldsNoMail() async throws {
        let address = "ann-\(Names.random(8))@example.com"
        try await Self.withClock { settings, file in
            var port = 0
            try await Peer.with("smtp.py", ["--tls", "none"]) { port = $0.port }
            try "\(40 * 86_400)".write(toFile: file, atomically: true, encoding: .utf8)
            let mail = [
                "SATCHEL_MAIL": "smtp", "SATCHEL_SMTP_URL": "smtp://localhost:\(port)", "SATCHEL_SMTP_TLS": "none",
                "SATCHEL_MAIL_RETRY_SECONDS": "1", "SATCHEL_VERIFY_EMAIL": "true",
            ]
            try await Suite.with(settings: settings.merging(mail) { $1 }) { suite in
                let made = try await ParseClient(suite).call(
                    .POST, "/users",
                    ["username": .string(address), "email": .string(address), "password": "a-long-secret"])
                #expect(made.status == 201, "\(made.text)")
                try await eventually("the mail failed") {
                    let mails = try await ParseClient.master(suite).run("mails")
                    return mails["result"]?.arrayValue?.contains { $0["attempts"]?.intValue ?? 0 > 0 } ?? false
                }
                try "0".write(toFile: file, atomically: true, encoding: .utf8)
                try await Peer.with("smtp.py", ["--tls", "none", "--port", "\(port)"]) { peer in
                    try await eventually("the mail is there", within: .seconds(60)) {
                        peer.reports().contains { $0["event"] == "mail" }
                    }
                }
            }
        }
    }
}
