import Foundation

/// The checkout from which the tests were built.
package let checkoutDirectory = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

/// A command of the operating system, run to its end.
package enum Command {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs an executable and returns its standard output and standard error.
    /// - Parameter environment: replaces all `SATCHEL_*` variables of this process; other variables are inherited.
    /// - Throws: `Failed` with the output when the status is not 0.
    package static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        // Uses a file instead of a pipe: daemons that the command starts may keep the output open.
        let output = outputFile()
        let status = try await ChildProcess(arguments, environment: environment, output: output).ended()
        return try text(output, of: arguments, status)
    }

    /// Like `run`, but blocks the thread. For values that are needed before a test runs, such as its arguments.
    /// - Throws: `Failed` with the output when the status is not 0.
    package static func runBlocking(_ arguments: [String]) throws -> String {
        let output = outputFile()
        let status = try ChildProcess(arguments, environment: [:], output: output).wait()
        return try text(output, of: arguments, status)
    }

    private static func outputFile() -> String {
        FileManager.default.temporaryDirectory.path + "/satchel-output-\(UUID().uuidString)"
    }

    private static func text(_ output: String, of arguments: [String], _ status: Int32) throws -> String {
        defer { try? FileManager.default.removeItem(atPath: output) }
        let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
        guard status == 0 else {
            throw Failed(description: "\(arguments.joined(separator: " ")) ended with \(status):\n\(text)")
        }
        return text
    }
}
