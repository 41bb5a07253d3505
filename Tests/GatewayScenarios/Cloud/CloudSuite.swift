import Foundation
import ParseProtocol
import TestSupport

/// Suites with a test's own cloud code.
enum CloudSuite {
    /// A folder with this `main.js`.
    static func folder(_ code: String) throws -> String { try folder(files: ["main.js": code]) }

    /// A folder with these files, by their paths in it.
    static func folder(files: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "code-\(Names.random(12))")
        for (path, text) in files {
            let file = folder.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return folder.path
    }

    /// A suite with the code. Its function `hello` must answer: a suite that is healthy has loaded its code.
    static func start(_ code: String, settings: [String: String] = [:]) async throws -> Suite {
        try await start(files: ["main.js": code], settings: settings)
    }

    /// A suite with this code folder, whose function `hello` must answer.
    static func start(
        files: [String: String], scale: String? = nil, settings: [String: String] = [:]
    ) async throws -> Suite {
        let settings = settings.merging(["SATCHEL_CLOUD_CODE": try folder(files: files)]) { setting, _ in setting }
        let suite = try await Suite.start(scale: scale, settings: settings)
        let hello = try await ParseClient(suite).call(.POST, "/functions/hello", ["name": "you"])
        guard hello.status == 200 else { throw Unexpected("hello of a healthy suite", hello) }
        return suite
    }
}
