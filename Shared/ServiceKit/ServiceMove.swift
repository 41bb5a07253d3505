import Foundation
import Logging
import ObjectStore
import ProcessKit

/// The part of `scripts/move` that a service's own executable does, which alone knows its classes and tables:
/// `bag move`.
///
/// It is told what to do by lines on standard input, and answers by lines on standard output: a word, and what belongs
/// to it. First the target comes, `sqlite` or a connection string, which so is in no list of processes. `copying …`
/// says what it does; `ready` that little is left; after `finish`, when the service's processes have ended, `moved …`
/// says that both sides are the same. `healthy` then ends the move with `aside …`, and `back`, or the end of the input
/// at any time, takes it back: `left` says that nothing remains, `kept` that the service writes the new side already.
struct ServiceMove {
    /// The argument of the executable.
    static let argument = "move"

    private let plan: ServicePlan
    private let configuration: ServiceConfiguration
    private let logger: Logger

    /// - Throws: what is wrong with the wish, `MoveRefused` or `StoreError`; the target is gone then.
    static func run(_ plan: ServicePlan, _ configuration: ServiceConfiguration, _ logger: Logger) throws {
        try ServiceMove(plan: plan, configuration: configuration, logger: logger).run()
    }

    private func run() throws {
        // The script may be gone; then the input has ended.
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

    /// - Throws: `StartupProblem` for the side on which the service is already, or what is no connection string.
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

    /// - Throws: `StartupProblem` when nobody waits for the move any more.
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
