import Foundation
import Synchronization

/// Stops a suite and removes its data when it is told to, and also when this process ends in any way: a shell that
/// waits for the end of its input, which the kernel closes with us.
final class Keeper: Sendable {
    private struct State {
        var input: FileHandle?
    }

    private let state: Mutex<State>
    private let ended: Task<Void, Never>

    private static let all = Mutex<[Keeper]>([])
    /// `exit` waits for the suites to stop, so that a test run leaves no process behind.
    private static let stopAtExit: Void = { _ = atexit { Keeper.closeAll() } }()

    private static let program = """
        trap '' INT TERM HUP
        read -r _
        "$1/scripts/down" >/dev/null 2>&1
        rm -rf -- "$SATCHEL_DATA"
        """

    init(environment: [String: String]) throws {
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", Self.program, "satchel-keeper", checkoutDirectory]
        process.environment = Command.environment(with: environment)
        process.standardInput = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        state = Mutex(State(input: pipe.fileHandleForWriting))
        ended = Task { for await _ in ends {} }
        _ = Self.stopAtExit
        Self.all.withLock { $0.append(self) }
    }

    /// Stops the suite and waits until it has stopped.
    func finish() async {
        close()
        await ended.value
    }

    private func close() {
        state.withLock {
            try? $0.input?.close()
            $0.input = nil
        }
    }

    private static func closeAll() {
        let done = DispatchSemaphore(value: 0)
        let keepers = all.withLock { $0 }
        for keeper in keepers { keeper.close() }
        Task.detached {
            for keeper in keepers { await keeper.ended.value }
            done.signal()
        }
        _ = done.wait(timeout: .now() + 30)
    }
}
