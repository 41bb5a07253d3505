import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Fuzzes all code that reads bytes from outside: it must not crash, hang or leak memory, and its properties must hold.
///
/// Each target first replays its corpus of inputs that once found a fault. A test run then generates a fixed number of
/// inputs from a fixed seed. `scripts/fuzz` sets the variables below to run each target for a time instead.
@Suite(.serialized) struct FuzzTests {
    /// Duration of a long run in seconds; unset for a short run with a fixed seed.
    private static let seconds = ProcessInfo.processInfo.environment["SATCHEL_FUZZ_SECONDS"].flatMap { Double($0) }
    private static let journalFolder = ProcessInfo.processInfo.environment["SATCHEL_FUZZ_JOURNAL"]
    private static let seed = ProcessInfo.processInfo.environment["SATCHEL_FUZZ_SEED"].flatMap { UInt64($0) }

    private func fuzz(_ target: any FuzzTarget) async throws {
        let seed = Self.seed ?? (Self.seconds == nil ? 1 : .random(in: 0 ... .max))
        let run = FuzzRun(
            target: target, budget: Self.seconds.map { .seconds($0) } ?? .inputs(target.testInputs), seed: seed,
            journalFolder: Self.journalFolder, keepsFailures: Self.seconds != nil,
            growthPercent: Self.seconds == nil ? 0 : 5)
        let report = try await run.run()
        let rate = Int(Double(report.inputs) / max(report.seconds, 0.001))
        print(
            """
            fuzz \(target.name): \(report.inputs) inputs, \(rate)/s, \(report.outcomes) outcomes, slowest \
            \(Int(report.slowest.seconds * 1000)) ms,
            """,
            """
            \(report.failures.count) new failures, RSS \(Memory.text(report.memoryAtStart)) -> \
            \(Memory.text(report.memoryAtEnd)), seed \(seed)
            """
        )
        for failure in report.failures { Issue.record("\(target.name), seed \(seed), \(failure)") }
        // A short run cannot distinguish memory growth from the filling of caches.
        guard let seconds = Self.seconds, seconds >= 30 else { return }
        #expect(report.memoryAtEnd - report.memoryAtStart < target.growthBytesMax, "\(target.name) grows.")
    }

    /// A quadratic reader: it scans its whole input for every eighth byte.
    private struct SlowReader: FuzzTarget {
        let name = "slow"
        let testInputs = 0
        var spent: Duration { ProcessorTime.ofThisThread }

        func generate(_ random: inout Seeded) -> [UInt8] { Array("[1,2,3]".utf8) }

        func run(_ input: [UInt8]) async throws -> String {
            var hash = FNV1a()
            for _ in stride(from: 0, to: input.count, by: 8) { hash.add(input) }
            return hash.hash == 0 ? "zero" : "read"
        }
    }

    @Test func aTimeThatGrowsFasterThanTheInputIsFound() async throws {
        let run = FuzzRun(target: SlowReader(), budget: .inputs(1), seed: 1, growthPercent: 100)
        var failures: [String] = []
        // A run ends when its first times seem to grow slowly, for example because the machine stood still.
        for _ in 0..<10 where failures.isEmpty { failures = try await run.run().failures }
        #expect(failures.contains { $0.contains("The time grows faster than the input") }, "\(failures)")
    }

    /// Checks that every new message type is included.
    @Test func everyMessageIsFuzzed() throws {
        let folder = URL(fileURLWithPath: "\(checkoutDirectory)/Shared/Messages/Protos")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let declared = try files.filter { $0.pathExtension == "proto" }.flatMap { file in
            try String(contentsOf: file, encoding: .utf8).matches(of: /(?m)^message (\w+)/).map { String($0.1) }
        }
        #expect(!declared.isEmpty)
        #expect(Set(declared) == Set(BusTarget.messages.map { "\($0)" }))
    }

    @Test func json() async throws { try await fuzz(JSONTarget()) }
    @Test func query() async throws { try await fuzz(QueryTarget()) }
    @Test func operations() async throws { try await fuzz(OperationTarget()) }
    @Test func bus() async throws { try await fuzz(BusTarget()) }
    @Test func reports() async throws { try await fuzz(ReportTarget()) }
    @Test func files() async throws { try await fuzz(FileTarget()) }
    @Test func http() async throws { try await fuzz(HTTPTarget()) }
    @Test func live() async throws { try await fuzz(LiveTarget()) }
    @Test func desk() async throws { try await fuzz(DeskTarget()) }
    @Test func bson() async throws { try await fuzz(BSONTarget()) }
    @Test func archives() async throws { try await fuzz(ArchiveTarget()) }
    @Test func exports() async throws { try await fuzz(ExportTarget()) }
    @Test func dump() async throws { try await fuzz(DumpTarget()) }
}
