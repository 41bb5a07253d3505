import Foundation
import ProcessKit

/// A child process that inherits three descriptors only. Foundation's `Process` passes a socket to its child and treats
/// the end of that socket as the end of the child. A daemon that the child leaves behind keeps that socket open.
struct ChildProcess: Sendable {
    private let program: SpawnedProgram

    var pid: pid_t { program.pid }

    /// - Parameters:
    ///   - environment: replaces all `SATCHEL_*` variables of this process; other variables are inherited.
    ///   - input: descriptor for standard input; nil for /dev/null.
    ///   - output: file for standard output and standard error.
    init(_ arguments: [String], environment: [String: String], input: Int32? = nil, output: String = "/dev/null") throws
    {
        let variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SATCHEL_") }
            .merging(environment) { _, new in new }.map { "\($0.key)=\($0.value)" }
        do throws(SpawnedProgram.Failure) {
            program = try SpawnedProgram(
                ["/bin/bash", "-c", Self.withoutOurDescriptors, "bash"] + arguments, environment: variables,
                descriptors: [input.map { .ours($0) } ?? .nothingToRead, .file(output, adds: true), .same(1)])
        } catch {
            throw Command.Failed(description: "\(arguments[0]) does not start (\(error)).")
        }
    }

    /// Blocks until the process ends and returns its status, or the negative number of the signal that ended it.
    @discardableResult
    func wait() -> Int32 {
        switch program.wait() {
        case .status(let status): status
        case .signal(let signal): -signal
        case nil: 0
        }
    }

    /// Waits without blocking a thread of the cooperative pool.
    func ended() async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: wait()) }
        }
    }

    /// Swift does not import the C library's closefrom action.
    private static let withoutOurDescriptors = """
        for file in /proc/$$/fd/*; do (( ${file##*/} < 3 )) || eval "exec ${file##*/}>&-"; done
        exec "$@"
        """
}
