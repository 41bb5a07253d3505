import Foundation
import Logging
import ObjectStore
import ProcessKit

/// The part of `scripts/move` that runs in a service's own executable (`bag move`), because only it knows the service's
/// classes and tables.
///
/// It reads commands as lines on standard input and writes answers as lines on standard output: a word and its data.
///
/// - The first line is the target: `sqlite` or a connection string. On standard input its password is visible in no
///   process list.
/// - `copying …` reports progress, `ready` that little is left to copy.
/// - `finish`, sent after the service's processes have ended, is answered with `moved …` once both sides are equal.
/// - `healthy` completes the move and is answered with `aside …`.
/// - `back`, or the end of the input at any time, reverts the move. The answer is `left` if the target is removed, or
///   `kept` if the service already writes to it.
struct ServiceMove {
    /// The command-line argument that selects the move.
    static let argument = "move"

    private let plan: ServicePlan
    private let configuration: ServiceConfiguration
    private let logger: Logger

    /// - Throws: `StartupProblem` for an invalid target, `MoveRefused` or `StoreError`; the target is removed then.
    static func run(_ plan: ServicePlan, _ configuration: ServiceConfiguration, _ logger: Logger) throws {
        try ServiceMove(plan: plan, configuration: configuration, logger: logger).run()
    }

    private func run() throws {
        // Ignored, because the script may be gone; then the input has ended.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGINT, SIG_IGN)
        guard let wish = readLine() else { return }
        let move: StoreMove
        do {
            move = try StoreMove(
                from: configuration.database(plan), to: target(wish), classes: plan.classes,
                migrations: ServiceHost.migrations(of: plan), logger: logger, say: Self.tell)
        } catch {
            Self.answer("left")
            throw error
        }
        do {
            try move.copy()
            Self.answer("ready")
            guard readLine() == "finish" else { return Self.takeBack(move) }
            Self.answer("moved", try move.finish())
        } catch {
            Self.takeBack(move)
            throw error
        }
        guard readLine() == "healthy" else { return Self.takeBack(move) }
        Self.answer("aside", try move.setAside())
    }

    /// - Throws: `StartupProblem` if the service already uses that side, or for an invalid connection string.
    private func target(_ wish: String) throws(StartupProblem) -> StoreDatabase {
        let target: StoreDatabase =
            wish == ServiceConfiguration.sqlite
            ? .file(path: configuration.databasePath(plan.name)) : try .postgresql(configuration.server(wish, plan))
        switch (target, try configuration.database(plan)) {
        case (.file, .file): throw StartupProblem("\(plan.name) keeps its data in SQLite already.")
        case (.postgresql, .postgresql): throw StartupProblem("\(plan.name) keeps its data in PostgreSQL already.")
        default: return target
        }
    }

    private static func takeBack(_ move: StoreMove) { answer(move.abandon() ? "left" : "kept") }

    /// - Throws: `StartupProblem` when the script has ended.
    private static func tell(_ text: String) throws {
        answer("copying", text)
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&input, 1, 0) >= 0, input.revents & Int16(POLLHUP) == 0 else {
            throw StartupProblem("The move was interrupted.")
        }
    }

    private static func answer(_ word: String, _ text: String = "") {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(word)\(text.isEmpty ? "" : " " + text)\n".utf8))
    }
}
