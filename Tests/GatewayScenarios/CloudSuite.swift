import Foundation
import ParseProtocol
import TestSupport

/// Suites with cloud code of a test's own.
enum CloudSuite {
    /// A folder with this `main.js` and other files, by their paths in it.
    static func folder(_ code: String, files: [String: String] = [:]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "code-\(Names.random(12))")
        for (path, text) in files.merging(["main.js": code], uniquingKeysWith: { $1 }) {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return folder.path
    }

    /// A suite with the code, of which the function `hello` answers already.
    static func start(
        _ code: String, files: [String: String] = [:], settings: [String: String] = [:]
    ) async throws -> Suite {
        let code = ["SATCHEL_CLOUD_CODE": try folder(code, files: files)]
        let settings = settings.merging(code) { setting, _ in setting }
        let suite = try await Suite.start(settings: settings)
        try await eventually("the code is loaded") {
            try await ParseClient(suite).call(.POST, "/functions/hello", ["name": "you"]).status == 200
        }
        return suite
    }
}
