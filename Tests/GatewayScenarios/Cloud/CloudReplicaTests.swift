import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Several replicas of `cloud`: all run the code and share its calls. A replica that dies fails only its own calls, a
/// job runs on one replica, and calls go to one version only.
@Suite(.serialized) struct CloudReplicaTests {
    private static let scale = "cloud=3"
    private static let replicas = ["cloud-1", "cloud-2", "cloud-3"]

    /// The replica is the parent of a code process.
    private static func code(_ version: Int = 1, more: String = "") -> String {
        """
        const master = { useMasterKey: true };
        const pause = (time) => new Promise(done => setTimeout(done, time));
        Parse.Cloud.define('hello', () => 'hello');
        Parse.Cloud.define('replica', () => process.ppid);
        Parse.Cloud.define('version', () => \(version));
        Parse.Cloud.define('note', async (request) => {
          await new Parse.Object('ReplicaNote').save({ number: request.params.number }, master);
          await pause(50);
          return request.params.number;
        });
        Parse.Cloud.define('saved', async () => {
          await pause(700);
          return (await new Parse.Object('ReplicaSaved').save(null, master)).get('version');
        });
        Parse.Cloud.beforeSave('ReplicaSaved', request => { request.object.set('version', \(version)); });
        Parse.Cloud.job('long', async (request) => {
          await new Parse.Object('ReplicaRun').save({ run: request.jobId, replica: process.ppid }, master);
          while (await new Parse.Query('ReplicaEnd').count(master) === 0) await pause(100);
          return 'over';
        });
        \(more)
        """
    }

    private static func start() async throws -> Suite {
        let suite = try await CloudSuite.start(files: ["main.js": code()], scale: scale)
        try await untilAllTakeCalls(suite)
        return suite
    }

    private static func pids(in suite: Suite) -> Set<Int64> {
        Set(replicas.compactMap { suite.processId(of: $0).map(Int64.init) })
    }

    private static func untilAllTakeCalls(_ suite: Suite) async throws {
        let client = ParseClient(suite)
        try await eventually("calls are shared by three replicas") {
            var seen: Set<Int64> = []
            for _ in 0..<24 {
                if let pid = try await client.run("replica").result.intValue { seen.insert(pid) }
            }
            return seen.count == 3 && seen == pids(in: suite)
        }
    }

    /// The expected `/health` when `current` of the three replicas run the active version.
    private static func health(current: Int64) -> JSON {
        ["status": "ok", "replicas": 3, "writer": true, "current": .int(current)]
    }

    private static func health(of suite: Suite) async throws -> JSON? {
        try await ParseClient(suite).get("/health").json.at("services", "cloud")
    }

    @Test(.timeLimit(.minutes(10))) func replicasShareCallsAndAJobHasOneOfThem() async throws {
        let suite = try await Self.start()
        let master = ParseClient.master(suite)
        #expect(try await Self.health(of: suite) == Self.health(current: 3))
        let started = try await master.call(.POST, "/jobs/long", [:])
        let id = try #require(started.headers.first(name: "X-Parse-Job-Status-Id"), "\(started.text)")
        try await eventually("the job is under way") { try await !master.find("ReplicaRun", [:]).results.isEmpty }
        let run = try #require(try await master.find("ReplicaRun", [:]).results.first)
        let others = Self.replicas.filter { replica in
            suite.processId(of: replica).map { Int64($0) != run["replica"]?.intValue } ?? false
        }
        #expect(others.count == 2)
        for replica in others { try await suite.kill(replica) }
        try await Self.untilAllTakeCalls(suite)
        #expect(try await master.get("/classes/_JobStatus/\(id)")["status"] == "running")
        _ = try await master.create("ReplicaEnd", [:])
        try await eventually("the job is over") {
            try await master.get("/classes/_JobStatus/\(id)")["message"] == "over"
        }
        #expect(try await master.get("/classes/_JobStatus/\(id)")["status"] == "succeeded")
        #expect(try await master.find("ReplicaRun", [:]).results.map { $0["run"] } == [.string(id)], "It ran once.")
        await suite.stop()
    }

    /// The numbers that clients pass to calls, and the answers.
    private actor Notes {
        private(set) var answered: Set<Int64> = []
        private(set) var failures: [String] = []
        private var last: Int64 = 0
        private var isOver = false

        func next() -> Int64? {
            guard !isOver else { return nil }
            last += 1
            return last
        }

        func heard(_ answer: ParseClient.Answer, of number: Int64) {
            if answer.result == .int(number) {
                answered.insert(number)
            } else if answer.code != 124 {
                failures.append("\(number): \(answer.status) \(answer.text)")
            }
        }

        func failed(_ error: any Error) { failures.append("\(error)") }

        func end() { isOver = true }
    }

    /// The killed replicas include the writer. Calls on a killed replica have an unknown outcome; all others are
    /// answered.
    @Test(.timeLimit(.minutes(10))) func aReplicaThatDiesTakesItsOwnCallsAloneAndNothingIsRunTwice() async throws {
        let suite = try await Self.start()
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let notes = Notes()
        let calling = (0..<4).map { _ in
            Task {
                while let number = await notes.next() {
                    do {
                        await notes.heard(try await client.run("note", ["number": .int(number)]), of: number)
                    } catch {
                        await notes.failed(error)
                    }
                }
            }
        }
        for replica in Self.replicas {
            let before = await notes.answered.count
            try await eventually("calls are answered") { await notes.answered.count >= before + 10 }
            try await suite.kill(replica)
        }
        await notes.end()
        for task in calling { await task.value }
        let (answered, failures) = await (notes.answered, notes.failures)
        #expect(failures == [])
        let noted = try await master.findAll("ReplicaNote").compactMap { $0["number"]?.intValue }
        #expect(noted.count == Set(noted).count, "Nothing is run twice.")
        #expect(answered.subtracting(noted).isEmpty)
        await suite.stop()
    }

    /// The versions that clients receive during a deployment.
    private actor Versions {
        private(set) var failures: [String] = []
        /// Number of answers to calls that began after the deployment.
        private(set) var after = 0
        /// The version that such calls must return; nil before the deployment.
        private(set) var wanted: Int64?
        private(set) var seen: Set<Int64> = []

        func deployed(_ version: Int64) { wanted = version }

        /// Calls a function until the task is cancelled. Cancellation may end the last call.
        nonisolated func keepCalling(_ function: String, _ client: ParseClient) async {
            var last: Int64 = 0
            while !Task.isCancelled {
                let wanted = await wanted
                do {
                    let answer = try await client.run(function)
                    last = await heard(answer, of: function, wanted: wanted, last: last)
                } catch {
                    if !Task.isCancelled { await fail("\(function) has no answer: \(error)") }
                    return
                }
            }
        }

        private func heard(
            _ answer: ParseClient.Answer, of function: String, wanted: Int64?, last: Int64
        ) -> Int64 {
            guard let version = answer.result.intValue else {
                fail("\(function) is answered with \(answer.status): \(answer.text)")
                return last
            }
            if version < last { fail("\(function) was answered by \(last), and then by \(version)") }
            if let wanted {
                after += 1
                if version != wanted { fail("\(function) is answered by \(version) and not \(wanted)") }
            }
            seen.insert(version)
            return version
        }

        private func fail(_ text: String) { failures.append(text) }
    }

    @Test(.timeLimit(.minutes(10))) func callsGoToOneVersionAndNoneIsLost() async throws {
        try await Suite.with(scale: Self.scale) { suite in
            let client = ParseClient(suite)
            _ = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(1)))
            try await Self.untilAllTakeCalls(suite)
            let versions = Versions()
            let calling = ["version", "version", "saved", "saved", "saved"].map { function in
                Task { await versions.keepCalling(function, client) }
            }
            try await eventually("both functions are answered") { await versions.seen == [1] }
            _ = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(2)))
            await versions.deployed(2)
            try await eventually("calls go on") { await versions.after >= 20 }
            for task in calling { task.cancel() }
            for task in calling { await task.value }
            let (failures, seen) = await (versions.failures, versions.seen)
            #expect(failures == [])
            #expect(seen == [1, 2])
            try await Self.untilAllTakeCalls(suite)
        }
    }

    /// A replica that starts after a change runs different code than the others, so it gets no calls.
    @Test(.timeLimit(.minutes(10))) func codeThatIsChangedByHandWaitsForARestart() async throws {
        let folder = try CloudSuite.folder(Self.code(1))
        let suite = try await CloudSuite.start(
            files: [:], scale: Self.scale, settings: ["SATCHEL_CLOUD_CODE": folder])
        try await Self.untilAllTakeCalls(suite)
        try Self.code(2).write(toFile: "\(folder)/main.js", atomically: true, encoding: .utf8)
        try await suite.kill("cloud-1")
        try await eventually("it is back with other code") {
            try await Self.health(of: suite) == Self.health(current: 2)
        }
        let client = ParseClient(suite)
        for _ in 0..<12 { #expect(try await client.run("version").result == 1) }
        _ = try await suite.script("restart", "cloud")
        try await Self.untilAllTakeCalls(suite)
        for _ in 0..<12 { #expect(try await client.run("version").result == 2) }
        await suite.stop()
    }

    /// A version passes the check but fails to load in the suite: clients notice nothing.
    @Test(.timeLimit(.minutes(10))) func aVersionThatDoesNotLoadReplacesNothing() async throws {
        try await Suite.with(scale: Self.scale) { suite in
            let client = ParseClient(suite)
            _ = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(1)))
            try await Self.untilAllTakeCalls(suite)
            let versions = Versions()
            let calling = ["version", "saved"].map { function in
                Task { await versions.keepCalling(function, client) }
            }
            let broken = Self.code(2, more: "if (__dirname.includes('.versions')) throw new Error('Not here.');")
            let refusal = await #expect(throws: Command.Failed.self) {
                try await suite.script("cloud", "deploy", CloudSuite.folder(broken))
            }
            #expect(refusal?.description.contains("version 1 is in effect") == true, "\(refusal?.description ?? "")")
            for task in calling { task.cancel() }
            for task in calling { await task.value }
            let (failures, seen) = await (versions.failures, versions.seen)
            #expect(failures == [])
            #expect(seen == [1])
            #expect(try await suite.script("cloud", "status").contains("cloud is well"))
        }
    }
}
