import Foundation

/// The checkout the tests were built from.
package let checkoutDirectory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

/// A command of the operating system, run to its end.
package struct Command {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs an executable and returns what it wrote to both outputs.
    /// - Parameter environment: replaces every `SATCHEL_*` variable of ours; the other variables are passed on.
    /// - Throws: `Failed` with the output when the status is not 0.
    package static func run(
        _ path: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> String {
        // A file and not a pipe: daemons that the command starts may keep their copy of it open.
        let outputPath = FileManager.default.temporaryDirectory.path + "/satchel-output-\(UUID().uuidString)"
        _ = FileManager.default.createFile(atPath: outputPath, contents: nil, attributes: [.posixPermissions: 0o600])
        defer { try? FileManager.default.removeItem(atPath: outputPath) }
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = Command.environment(with: environment)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        try output.close()
        let text = String(decoding: FileManager.default.contents(atPath: outputPath) ?? Data(), as: UTF8.self)
        guard status == 0 else {
            throw Failed(description: "\(([path] + arguments).joined(separator: " ")) ended with \(status):\n\(text)")
        }
        return text
    }

    static func environment(with changes: [String: String]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SATCHEL_") }.merging(changes) { _, new in new }
    }
}
