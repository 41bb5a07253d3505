import Foundation

/// A program that is run to its end.
enum Command {
    /// The program's standard output. Its errors go where ours go.
    static func output(of program: String, _ arguments: [String]) async throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // Reading blocks until the program ends: on a thread that nobody else needs.
        let handle = pipe.fileHandleForReading
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Array(handle.readDataToEndOfFile())) }
        }
    }
}

/// Prints a line at once: what reads it may be a file or a pipe.
func writeLine(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
