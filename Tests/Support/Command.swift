import Foundation

/// The checkout the tests were built from.
package let checkoutDirectory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

/// A command of the operating system, run to its end.
package enum Command {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs an executable and returns what it wrote to both outputs.
    /// - Parameter environment: replaces every `SATCHEL_*` variable of ours; the other variables are passed on.
    /// - Throws: `Failed` with the output when the status is not 0.
    package static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        // A file and not a pipe: daemons that the command starts may keep their copy of it open.
        let output = FileManager.default.temporaryDirectory.path + "/satchel-output-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: output) }
        let status = try await ChildProcess(arguments, environment: environment, output: output).ended()
        let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
        guard status == 0 else {
            throw Failed(description: "\(arguments.joined(separator: " ")) ended with \(status):\n\(text)")
        }
        return text
    }
}
