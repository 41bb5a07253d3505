import ArgumentParser
import NIOPosix
import ParseProtocol

/// The attackers' process: apart from the shoppers', so that neither slows down the other's clock, and at a lower
/// priority, because attackers bring machines of their own. Prints its tally as JSON.
struct AttackersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attackers", abstract: "Attacks, without shoppers beside it.", shouldDisplay: false)

    @OptionGroup var suite: TargetOptions
    @Option var attack: String
    @Option var seconds: Int
    @Option var addresses: Int
    @Option var connections: Int
    @Option(help: "Requests per second, of the harmless crowd.") var rate = HarmlessCrowd.usualRate

    func validate() throws {
        guard DenialCommand.secondsRange.contains(seconds), DenialCommand.addressRange.contains(addresses),
            DenialCommand.connectionRange.contains(connections)
        else { throw ValidationError("An option is out of its range.") }
    }

    func run() async throws {
        let attack = try Arsenal.attack(named: attack, rate: rate)
        let attackers = Attackers(
            target: suite.target, addressCount: addresses, connections: connections,
            group: MultiThreadedEventLoopGroup.singleton)
        await attack.run(attackers, until: .now + .seconds(seconds))
        writeLine(attackers.tally.result.json.serializedText)
    }
}

/// The attackers' process, seen from the one that measures.
enum AttackersProcess {
    /// Runs the attack to its end.
    static func run(
        _ attack: any Attack, on target: Target, _ plan: AttackPlan, rate: Double = HarmlessCrowd.usualRate
    ) async throws
        -> AttackTally.Result
    {
        let arguments = [
            "-n", "\(plan.niceness)", plan.executable, "attackers", "--attack", attack.name, "--host", target.host,
            "--port", "\(target.port)", "--data", target.dataDirectory, "--seconds", "\(plan.seconds)",
            "--addresses", "\(plan.addresses)", "--connections", "\(min(attack.connections, plan.connections))",
            "--rate", "\(rate)",
        ]
        let output = try await Command.output(of: "/usr/bin/nice", arguments)
        guard let json = try? JSON(parsing: output) else { throw AttackError("The attackers' process failed.") }
        return AttackTally.Result(json: json)
    }
}
