import ArgumentParser
import NIOPosix
import ParseProtocol

/// The attackers' process. Separate from the shoppers, so that neither distorts the other's measurements, and at a
/// lower priority, because real attackers use machines of their own. Prints its tally as JSON.
struct AttackersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attackers", abstract: "Attacks without shoppers.", shouldDisplay: false)

    @OptionGroup var suite: TargetOptions
    @Option var attack: String
    @Option var seconds: Int
    @Option var addresses: Int
    @Option var connections: Int
    @Option(help: "Requests per second, of the harmless crowd.") var rate = HarmlessLoad.usualRate

    func validate() throws {
        guard DenialCommand.secondsRange.contains(seconds), DenialCommand.addressRange.contains(addresses),
            DenialCommand.connectionRange.contains(connections)
        else { throw ValidationError("An option is out of its range.") }
    }

    func run() async throws {
        let attack = try Arsenal.attack(named: attack, rate: rate)
        let attackers = Attackers(
            target: suite.target, addressCount: min(addresses, attack.addressesMax),
            isOneNetwork: attack.isOneNetwork, connections: connections, group: MultiThreadedEventLoopGroup.singleton)
        await attack.run(attackers, until: .now + .seconds(seconds))
        writeLine(attackers.tally.result.json.serializedText)
    }
}

/// Starts the attackers' process from the measuring process.
enum AttackersProcess {
    /// Runs the attack until it ends.
    static func run(
        _ attack: any Attack, on target: Target, _ plan: AttackPlan, rate: Double = HarmlessLoad.usualRate
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
