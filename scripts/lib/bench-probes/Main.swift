import ArgumentParser

/// Baselines that `scripts/bench` measures on the same machine in the same run, and a load generator.
@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-bench",
        subcommands: [
            Checkouts.self, Metering.self, PasswordHashes.self, PreparePostgreSQL.self,
            RawPostgreSQL.self, RawSQLite.self, RawZeroMQ.self, StorePostgreSQL.self,
        ])
}
