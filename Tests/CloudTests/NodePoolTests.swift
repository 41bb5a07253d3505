import CloudService
import Foundation
import InMemoryLogging
import Logging
import MessageBus
import ParseProtocol
import ProcessKit
import Synchronization
import TestSupport
import Testing

/// The pool with real Node processes that run `Tests/Peers/cloud_runtime.js`.
@Suite struct NodePoolTests {
    /// Runs `body` with a pool, and with the folder of its code.
    private func withPool(
        processes: Int = 2, logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        ready: @escaping @Sendable (Bool) -> Void = { _ in },
        _ body: (_ pool: NodePool, _ folder: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cloud-\(Names.random(12))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Node is found through this process's PATH.
        var variables = ProcessInfo.processInfo.environment
        variables["SATCHEL_CLOUD_CODE"] = folder
        variables["SATCHEL_CLOUD_PROCESSES"] = "\(processes)"
        var configuration = try CloudConfiguration(Settings(variables), dataDirectory: folder)
        configuration.runtime = "\(checkoutDirectory)/Tests/Peers/cloud_runtime.js"
        let pool = try NodePool(configuration: configuration, logger: logger)
        pool.start(
            .init(
                loaded: { _ in },
                asked: { [weak pool] ask in
                    pool?.answer(ask, Array(#"{"status":200,"headers":{},"body":{"results":[]}}"#.utf8))
                }, problem: { _ in }, ready: ready))
        defer { pool.stop() }
        try await body(pool, folder)
    }

    private func run(_ name: String, in pool: NodePool, limit: Duration = .seconds(20)) async -> RunOutcome {
        let call: JSON = ["kind": "function", "name": .string(name), "params": [:], "request": [:]]
        let deadline = BusClock.now + limit.milliseconds
        return await pool.run(CodeRun(name: name, depth: 0, text: call.serialized, deadline: deadline))
    }

    private func result(_ name: String, in pool: NodePool) async throws -> JSON {
        let outcome = await run(name, in: pool)
        guard case .result(let text) = outcome else { throw NeverHappened("\(name): \(outcome)") }
        return try JSON(parsing: text)
    }

    @Test func aProcessHasItsSocketItsFolderAndNoSecrets() async throws {
        setenv("SATCHEL_TEST_SECRET", "x", 1)
        try await withPool { pool, folder in
            #expect(try await result("hello", in: pool) == "hello")
            #expect(try await result("descriptors", in: pool) == ["/dev/null", "pipe", "pipe", "socket"])
            #expect(try await result("variables", in: pool) == [])
            let place = try await result("place", in: pool).stringValue ?? ""
            #expect(place.hasSuffix(URL(fileURLWithPath: folder).lastPathComponent))
            #expect(try await result("ask", in: pool) == ["results": []])
        }
    }

    @Test func failuresAreToldApart() async throws {
        try await withPool { pool, _ in
            var refusal = CodeFailure(message: "Not today.")
            refusal.code = 4242
            refusal.stack = "here\nand there"
            #expect(await run("fail", in: pool) == .failed(refusal))
            guard case .failed = await run("deep", in: pool) else {
                Issue.record("A result that is nested too deep fails.")
                return
            }
            let died = RunOutcome.ended("The process of the cloud code ended while it worked on this.")
            #expect(await run("noise", in: pool) == died)
            #expect(await run("end", in: pool) == died)
            let next = try await result("hello", in: pool)
            #expect(next == "hello")
        }
    }

    @Test func aSpinningCallIsEndedAndOthersAreAnsweredMeanwhile() async throws {
        try await withPool { pool, _ in
            try await eventually("both processes have loaded") {
                async let one = result("pid", in: pool)
                async let other = result("pid", in: pool)
                return try await one != other
            }
            async let spinning = run("spin", in: pool, limit: .seconds(2))
            try await eventually("twenty calls are answered", within: .seconds(2)) {
                for _ in 0..<20 { _ = try await result("hello", in: pool) }
                return true
            }
            let tooLong = RunOutcome.ended("The cloud code took longer than it may and was ended.")
            #expect(await spinning == tooLong)
            let next = try await result("hello", in: pool)
            #expect(next == "hello")
        }
    }

    @Test func aSpinningCallIsEndedAlthoughItTalks() async throws {
        try await withPool(processes: 1) { pool, _ in
            let pid = try await result("pid", in: pool)
            let tooLong = RunOutcome.ended("The cloud code took longer than it may and was ended.")
            #expect(await run("mutter", in: pool, limit: .seconds(2)) == tooLong)
            let next = try await result("pid", in: pool)
            #expect(next != pid)
        }
    }

    @Test func aSlowCallIsEndedAloneAndItsProcessGoesOn() async throws {
        try await withPool(processes: 1) { pool, _ in
            let pid = try await result("pid", in: pool)
            async let never = run("never", in: pool, limit: .milliseconds(300))
            async let slow = run("slow", in: pool)
            let tooLong = RunOutcome.ended("The cloud code took longer than it may and was ended.")
            #expect(await never == tooLong)
            #expect(await slow == .result(Array(#""slow""#.utf8)), "More than a second after the other one was ended.")
            let next = try await result("pid", in: pool)
            #expect(next == pid)
        }
    }

    @Test func jobsEndBeforeTheirProcessAndCallsGoOn() async throws {
        try await withPool(processes: 1) { pool, _ in
            let call: JSON = ["kind": "job", "name": "never", "params": [:], "request": [:]]
            let end = BusClock.now + Duration.seconds(20).milliseconds
            var wanted = CodeRun(name: "never", depth: 0, text: call.serialized, deadline: end)
            wanted.jobId = "a"
            let job = wanted
            async let ended = pool.run(job)
            let pid = try await result("pid", in: pool)
            async let slow = run("slow", in: pool)
            pool.cancelJobs()
            let lost = RunOutcome.ended("The process of the cloud code ended before the job did.")
            #expect(await ended == lost)
            #expect(await pool.run(job) == lost, "No other one is begun.")
            #expect(await slow == .result(Array(#""slow""#.utf8)))
            let next = try await result("pid", in: pool)
            #expect(next == pid)
        }
    }

    @Test func itIsSaidWhetherCallsAreTaken() async throws {
        let said = Mutex<[Bool]>([])
        try await withPool(processes: 1, ready: { isReady in said.withLock { $0.append(isReady) } }) { pool, _ in
            let pid = try #require(try await result("pid", in: pool).intValue)
            try await eventually("it is ready") { said.withLock(\.self) == [true] }
            #expect(kill(pid_t(pid), SIGKILL) == 0)
            try await eventually("the next process has loaded") { said.withLock(\.self) == [true, false, true] }
        }
    }

    @Test func theCallAfterAKillIsAnswered() async throws {
        try await withPool(processes: 1) { pool, _ in
            let pid = try #require(try await result("pid", in: pool).intValue)
            #expect(kill(pid_t(pid), SIGKILL) == 0)
            try await eventually("the next process answers") {
                if case .result = await run("hello", in: pool) { true } else { false }
            }
            let next = try await result("pid", in: pool).intValue
            #expect(next != pid)
        }
    }

    /// Also programs left behind by a process that ended by itself, or by a stopped pool.
    @Test func whatTheCodeStartedEndsWithItsProcess() async throws {
        try await withPool(processes: 1) { pool, _ in
            let first = try await child(in: pool)
            _ = await run("end", in: pool)
            try await eventually("it ends with the process") { !first.isAlive }
            let second = try await child(in: pool)
            await pool.stop(within: .seconds(20))
            try await eventually("it ends with the pool") { !second.isAlive }
        }
    }

    /// A program that the code started.
    private func child(in pool: NodePool) async throws -> OtherProcess {
        let child = OtherProcess(pid: pid_t(try #require(try await result("child", in: pool).intValue)))
        #expect(child.isAlive)
        return child
    }

    @Test func codeThatCannotBeLoadedIsSaidUntilItCan() async throws {
        try await withPool(processes: 1) { pool, folder in
            let mark = folder + "/broken"
            #expect(FileManager.default.createFile(atPath: mark, contents: nil))
            _ = await run("end", in: pool)
            let broken = RunOutcome.ended("The cloud code cannot be loaded; the log says why.")
            try await eventually("it is said") { await run("hello", in: pool) == broken }
            try FileManager.default.removeItem(atPath: mark)
            try await eventually("it works again") { (try? await result("hello", in: pool)) == "hello" }
        }
    }

    /// Both paths into the log share one limit.
    @Test func whatIsPastTheLogIsDroppedAndCounted() async throws {
        let log = InMemoryLogHandler()
        func lines(with key: String) -> [Logger.Metadata] { log.entries.map(\.metadata).filter { $0[key] != nil } }
        try await withPool(processes: 1, logger: Logger(label: "test") { _ in log }) { pool, _ in
            #expect(try await result("chatter", in: pool) == "said")
            #expect(try await result("outputs", in: pool) == "written")
            _ = await run("end", in: pool)
            func logged() -> Int { lines(with: "code.text").count }
            func dropped() -> Int {
                lines(with: "code.bytes").compactMap { Int($0["code.lines"]?.description ?? "") }.reduce(0, +)
            }
            try await eventually("it is said what was dropped: \(logged()) and \(dropped())") {
                logged() + dropped() == 6000
            }
            // The allowance refills meanwhile.
            #expect(logged() >= LogRateLimit.linesMax)
            #expect(logged() < 3000, "\(logged())")
        }
    }
}
