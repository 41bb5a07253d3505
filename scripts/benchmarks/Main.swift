import ArgumentParser

/// The raw things that `scripts/bench` measures Satchel against, on the same machine in the same run.
@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-bench", subcommands: [BareRoute.self, RawSQLite.self, RawZeroMQ.self])
}
