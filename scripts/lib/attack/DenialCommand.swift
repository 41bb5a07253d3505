import ArgumentParser
import Foundation
import NIOPosix
import ParseProtocol

/// The strength and duration of an attack.
struct AttackPlan: Sendable {
    let seconds: Int
    let addresses: Int
    let connections: Int
    let shoppers: Int
    let niceness: Int
    /// This executable, which also runs the attackers' process.
    let executable: String
}

/// Runs one attack together with honest shoppers and reports its effect on them.
struct DenialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "denial", abstract: "Runs one attack beside honest shoppers; fails when it affects them.")

    static let secondsRange = 1...600
    static let addressRange = 1...253
    static let connectionRange = 1...1000

    @OptionGroup var suite: TargetOptions
    @Argument(help: "The attack; satchel-attack list names them.") var attack: String
    @Option(help: "How long the attack lasts.") var seconds = 10
    @Option(help: "How many addresses the attackers have.") var addresses = 100
    @Option(help: "Maximum connections; each attack has its own number.") var connections = 1000
    @Option(help: "Honest shoppers, 1 to 200.") var shoppers = 20
    @Option(help: "The attackers' niceness.") var niceness = 10
    @Option(help: "File to which the figures are added as a line of JSON.") var json: String?

    func validate() throws {
        guard Self.secondsRange.contains(seconds) else { throw ValidationError("--seconds must be in 1...600.") }
        guard Self.addressRange.contains(addresses) else { throw ValidationError("--addresses must be in 1...253.") }
        guard Self.connectionRange.contains(connections) else {
            throw ValidationError("--connections must be in 1...1000.")
        }
        guard (1...200).contains(shoppers) else { throw ValidationError("--shoppers must be in 1...200.") }
        guard (0...19).contains(niceness) else { throw ValidationError("--niceness must be in 0...19.") }
    }

    func run() async throws {
        let attack = try Arsenal.attack(named: attack)
        let plan = AttackPlan(
            seconds: seconds, addresses: addresses, connections: connections, shoppers: shoppers, niceness: niceness,
            executable: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let result = try await DenialRun(attack: attack, target: suite.target, plan: plan).run()
        writeLine(result.report)
        if let json { try result.append(to: json) }
        guard result.problems.isEmpty else { throw ExitCode.failure }
    }
}
