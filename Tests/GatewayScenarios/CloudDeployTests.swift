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

        func note(_ answer: ParseClient.Answer) {
            if let version = answer.result.intValue { versions.insert(version) } else { failures.append(answer.text) }
        }
    }

    private func version(_ suite: Suite) async throws -> JSON {
        try await ParseClient(suite).call(.POST, "/functions/version", [:]).result
    }

    @Test(.timeLimit(.minutes(3))) func aNewVersionIsTakenWithoutALostCallAndGoneBackFrom() async throws {
        try await Suite.with { suite in
            let client = ParseClient(suite)
            _ = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(1)))
            #expect(try await version(suite) == 1)

            let calls = Calls()
            let calling = Task {
                while !Task.isCancelled {
                    await calls.note(try await client.call(.POST, "/functions/version", [:]))
                }
            }
            // Such a call is under way when the code changes, and its trigger is asked for after that.
            let saving = Task {
                while !Task.isCancelled {
                    await calls.note(try await client.call(.POST, "/functions/saved", [:]))
                }
            }
            let told = try await suite.script("cloud", "deploy", CloudSuite.folder(Self.code(2)))
            #expect(told.contains("Version 2 of the cloud code is in effect"))
            calling.cancel()
            saving.cancel()
            // The last call may have been ended by the cancellation itself.
            _ = await (calling.result, saving.result)
            let (failures, versions) = await (calls.failures, calls.versions)
            #expect(failures == [])
            #expect(versions.isSubset(of: [1, 2]))
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
    @Test(.timeLimit(.minutes(3))) func aRestoreBringsBackTheVersions() async throws {
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
