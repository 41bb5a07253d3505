import ArgumentParser

/// `satchel-attack`: attacks a suite on this machine and reports the effect on its customers. scripts/attack runs it.
@main
struct SatchelAttack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-attack",
        abstract: "Attacks a suite on this machine beside honest shoppers, or tries to learn secrets by time.",
        subcommands: [DenialCommand.self, SecretsCommand.self, AttackersCommand.self, ListCommand.self]
    )
}

/// Lists the attacks, one per line with tab-separated columns: name, kind, the suite's replicas and settings, and a
/// description.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the attacks.")

    func run() {
        for attack in Arsenal.attacks {
            let settings = attack.settings.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let columns = [attack.name, attack.kind, attack.scale, settings.joined(separator: " "), attack.summary]
            // The shell merges adjacent tabs, so "-" stands for an empty column.
            writeLine(columns.map { $0.isEmpty ? "-" : $0 }.joined(separator: "\t"))
        }
    }
}
