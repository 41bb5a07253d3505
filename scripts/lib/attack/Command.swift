import Foundation

/// Runs a program until it ends.
enum Command {
    /// The program's standard output. Its standard error is inherited.
    static func output(of program: String, _ arguments: [String]) async throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // Reading blocks until the program ends, so it runs on a separate thread.
        let handle = pipe.fileHandleForReading
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Array(handle.readDataToEndOfFile())) }
        }
    }
}

/// Prints a line without buffering, because the output may be a file or a pipe.
func writeLine(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
