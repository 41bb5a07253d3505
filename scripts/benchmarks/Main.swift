import ArgumentParser

/// The raw things that `scripts/bench` measures Satchel against, on the same machine in the same run, and a load.
@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-bench",
        subcommands: [
            BareRoute.self, Checkouts.self, PasswordHashes.self, PreparePostgreSQL.self, RawPostgreSQL.self,
            RawSQLite.self, RawZeroMQ.self, StorePostgreSQL.self,
        ])
}
