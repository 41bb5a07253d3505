import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Deployments of new cloud code while customers call the previous version.
@Suite struct CloudDeployTests {
    private static func code(_ version: Int) -> String {
        """
        Parse.Cloud.define('version', () => \(version));
        Parse.Cloud.define('emptyBag', () => 'never called');
        Parse.Cloud.define('saved', async () => {
          await new Promise(done => setTimeout(done, 700));
          return (await new Parse.Object('Versioned').save(null, { useMasterKey: true })).get('version');
        });
        Parse.Cloud.beforeSave('Versioned', request => { request.object.set('version', \(version)); });
        """
    }

    /// The answers of calls that run during another operation.
    private actor Calls {
        private(set) var failures: [String] = []
        private(set) var versions: Set<Int64> = []

        /// Calls a function repeatedly until the task is cancelled. Cancellation may end the last call.
        nonisolated func keepCalling(_ function: String, _ client: ParseClient) async {
            while !Task.isCancelled {
                do {
                    await note(try await client.run(function), of: function)
                } catch {
                    if !Task.isCancelled { await fail("\(function) has no answer: \(error)") }
                    return
                }
            }
        }

        private func note(_ answer: ParseClient.Answer, of function: String) {
            if let version = answer.result.intValue {
                versions.insert(version)
            } else {
                fail("\(function) is answered with \(answer.status): \(answer.text)")
            }
        }

        private func fail(_ text: String) { failures.append(text) }
    }

    private func version(_ suite: Suite) async throws -> JSON {
        try await ParseClient(suite).call(.POST, "/functions/version", [:]).result
    }

    @Test(.timeLimit(.minutes(10))) func aNewVersionIsTakenWithoutALostCallAndGoneBackFrom() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            let said = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(1)))
            #expect(try await version(suite) == 1)
            // One of the code's functions has the name of a Satchel function.
            #expect(said.contains("Not used: emptyBag."), "\(said)")
            let functions = try await ParseClient.master(suite).get("/operations/functions")
            #expect(functions.json.at("code", "unused") == ["emptyBag"], "\(functions.text)")
            let warning = "SATCHEL_CLOUD_REPLACES_FUNCTIONS=true lets the code's win."
            try await eventually("the log names it") {
                suite.logTails(lines: .max) { $0.contains("functions=emptyBag") }.contains(warning)
            }

            let calls = Calls()
            // Calls of `saved` are in progress when the code changes; their trigger runs after that.
            let calling = ["version", "saved", "saved", "saved"].map { function in
                Task { await calls.keepCalling(function, client) }
            }
            let told = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(2)))
            #expect(told.contains("Version 2 of the cloud code is in effect"))
            for task in calling { task.cancel() }
            for task in calling { await task.value }
            let (failures, versions) = await (calls.failures, calls.versions)
            #expect(failures == [])
            #expect(versions.isSubset(of: [1, 2]) && !versions.isEmpty)
            #expect(try await version(suite) == 2)
            #expect(try await client.create("Versioned", [:])["version"] == 2)

            await #expect(throws: Command.Failed.self) {
                _ = try await suite.script("cloud", "deploy", CloudSuite.folder("this is no code("))
            }
            #expect(try await version(suite) == 2, "Nothing was changed.")
            #expect(try await suite.script("cloud", "status").contains("version 2"))

            _ = try await suite.script("cloud", "rollback")
            #expect(try await version(suite) == 1)
        }
    }

    private static func upload(_ version: Int) -> JSON {
        ["files": ["main.js": "require('cloud/lib/all');", "lib/all.js": .string(code(version))]]
    }

    /// The versions in forty answers, enough to reach every replica.
    private func versions(_ suite: Suite) async throws -> Set<JSON> {
        var seen: Set<JSON> = []
        for _ in 0..<40 { seen.insert(try await version(suite)) }
        return seen
    }

    @Test(.timeLimit(.minutes(10))) func aVersionThatComesByRouteIsTakenWithoutALostCallAndGoneBackFrom() async throws {
        try await Suite.with(scale: "cloud=2", settings: ["SATCHEL_CLOUD_DEPLOY_BY_ROUTE": "true"]) { suite in
            let (client, master) = (ParseClient(suite), ParseClient.master(suite))
            try await suite.untilHealthy(replicas: ["cloud": 2])
            let first = try await master.run("deployCloudCode", Self.upload(1))
            #expect(
                first.result == [
                    "version": 1, "functions": ["emptyBag", "saved", "version"], "jobs": [], "triggers": 1,
                ])
            #expect(try await versions(suite) == [1])

            let calls = Calls()
            let calling = ["version", "saved", "saved", "saved"].map { function in
                Task { await calls.keepCalling(function, client) }
            }
            let second = try await master.run("deployCloudCode", Self.upload(2))
            #expect(second.result["version"] == 2, "\(second.text)")
            #expect(try await versions(suite) == [2], "No client hears the old one any more.")
            try await eventually("both replicas run it") {
                let health = try await client.get("/health").json.at("services", "cloud")
                return health?["current"] == 2 && health?["problem"] == nil
            }
            for task in calling { task.cancel() }
            for task in calling { await task.value }
            let failures = await calls.failures
            #expect(failures == [])
            #expect(try await client.create("Versioned", [:])["version"] == 2)

            let broken = try await master.run("deployCloudCode", ["files": ["main.js": "this is no code("]])
            #expect(broken.code == 141, "\(broken.text)")
            let kept = try await master.run("cloudCodeVersions").result
            #expect(kept["versions"]?.arrayValue?.map { $0["version"] } == [1, 2])
            #expect(kept["current"] == 2)
            #expect(try await versions(suite) == [2])

            let back = try await master.run("activateCloudCode", ["version": 1])
            #expect(back.result["version"] == 1, "\(back.text)")
            #expect(try await versions(suite) == [1])
            #expect(try await master.run("activateCloudCode", ["version": 7]).code == 101)
            // A restart loads the same version.
            _ = try await suite.script("restart", "cloud")
            #expect(try await versions(suite) == [1])
            #expect(try await suite.script("cloud", "status").contains("cloud is well"))
        }
    }

    @Test(.timeLimit(.minutes(10))) func onlyTheMasterKeyBringsCodeAndOnlyWhereASettingSaysSo() async throws {
        let suite = try await Suite.shared
        let refused = try await ParseClient.master(suite).run("deployCloudCode", Self.upload(1))
        #expect(refused.code == 119)
        #expect(refused.text.contains("SATCHEL_CLOUD_DEPLOY_BY_ROUTE"))
        #expect(try await ParseClient.master(suite).run("cloudCodeVersions").code == 119)
        let admin = try await Customer.admin(suite)
        for name in ["deployCloudCode", "activateCloudCode", "cloudCodeVersions"] {
            #expect(try await admin.run(name, Self.upload(1)).code == 119, "\(name)")
        }
    }

    /// After a total loss, a backup restores the active version and the earlier ones.
    @Test(.timeLimit(.minutes(10))) func aRestoreBringsBackTheVersions() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let backup = FileManager.default.temporaryDirectory.appending(path: "backup-\(Names.random(12))").path
            defer { try? FileManager.default.removeItem(atPath: backup) }
            for version in [1, 2] {
                _ = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(version)))
            }
            _ = try await suite.script("backup", backup)
            try await suite.down()
            try FileManager.default.removeItem(atPath: suite.dataDirectory)
            _ = try await suite.script("restore", backup)
            _ = try await suite.script("up", "--no-build", "--no-demo")
            try await suite.untilHealthy()
            try await eventually("the code is run") { try await version(suite) == 2 }
            #expect(try await ParseClient(suite).create("Versioned", [:])["version"] == 2)
            _ = try await suite.script("cloud", "rollback")
            #expect(try await version(suite) == 1)
        }
    }
}
