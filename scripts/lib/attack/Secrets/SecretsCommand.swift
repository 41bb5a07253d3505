import ArgumentParser
import Foundation
import NIOPosix
import ParseProtocol

/// Tries to learn secrets from answers and their durations, without access rights. Fails when it learns anything.
struct SecretsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "Tries to learn a session token, phone numbers and accounts from answers and their times.")

    @OptionGroup var suite: TargetOptions
    @Option(help: "Requests in all.") var requests = 10_000
    @Option(help: "Private users.") var users = 200

    func validate() throws {
        guard (1000...1_000_000).contains(requests) else {
            throw ValidationError("--requests must be in 1000...1000000.")
        }
        guard (1...1000).contains(users) else { throw ValidationError("--users must be in 1...1000.") }
    }

    func run() async throws {
        let target = suite.target
        let probes = try await SecretsShop(target: target, users: users).probes()
        let each = requests / probes.count
        writeLine(
            "\(each) requests for each of \(probes.count) probes, a guess \(Probe.repetitions) times in each;"
                + " times in ms"
        )
        writeLine(SecretsRow.header)
        var learns = false
        for probe in probes {
            var interrogation = Interrogation(probe, target)
            let row = SecretsRow(probe, try await interrogation.run(requests: each), statuses: interrogation.statuses)
            writeLine(row.text)
            learns = learns || !row.problems.isEmpty
        }
        for row in try await MovedAccounts(target).rows(requests: each) {
            writeLine(row.text)
            learns = learns || !row.problems.isEmpty
        }
        writeLine(learns ? "FAIL: a secret can be learned." : "PASS: no secret was learned.")
        if learns { throw ExitCode.failure }
    }
}
