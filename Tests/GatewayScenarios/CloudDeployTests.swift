import Foundation
import ParseProtocol
import TestSupport
import Testing

/// New versions of cloud code while customers call the one before.
@Suite struct CloudDeployTests {
    private static func code(_ version: Int) -> String {
        """
        Parse.Cloud.define('version', () => \(version));
        Parse.Cloud.define('saved', async () => {
          await new Promise(done => setTimeout(done, 700));
          return (await new Parse.Object('Versioned').save(null, { useMasterKey: true })).get('version');
        });
        Parse.Cloud.beforeSave('Versioned', request => { request.object.set('version', \(version)); });
        """
    }

    /// Answers of calls that are made while something else happens.
    private actor Calls {
        private(set) var failures: [String] = []
        private(set) var versions: Set<Int64> = []

        /// Calls a function again and again until the task is cancelled, which may end the last call.
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
            _ = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(1)))
            #expect(try await version(suite) == 1)

            let calls = Calls()
            // Calls of `saved` are under way when the code changes, and their trigger is asked for after that.
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

    /// After everything is gone a backup brings back the version that was run, and those that one can go back to.
    @Test(.timeLimit(.minutes(10))) func aRestoreBringsBackTheVersions() async throws {
        try await Suite.with { suite in
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
