import Foundation
import ParseProtocol
import TestSupport

/// Suites with cloud code of a test's own.
enum CloudSuite {
    /// A folder with this `main.js`.
    static func folder(_ code: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "code-\(Names.random(12))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try code.write(toFile: folder + "/main.js", atomically: true, encoding: .utf8)
        return folder
    }

    /// A suite with the code, of which the function `hello` answers already.
    static func start(_ code: String, settings: [String: String] = [:]) async throws -> Suite {
        let settings = settings.merging(["SATCHEL_CLOUD_CODE": try folder(code)]) { setting, _ in setting }
        let suite = try await Suite.start(settings: settings)
        try await eventually("the code is loaded") {
            try await ParseClient(suite).call(.POST, "/functions/hello", ["name": "you"]).status == 200
        }
        return suite
    }
}
