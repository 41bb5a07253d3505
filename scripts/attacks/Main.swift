import ArgumentParser

/// `satchel-attack`: attacks a suite on this machine and tells what its customers notice. scripts/attack runs it.
@main
struct SatchelAttack: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-attack",
        abstract: "Attacks a suite on this machine beside honest shoppers, or tries to learn secrets by time.",
        subcommands: [DenialCommand.self, SecretsCommand.self, AttackersCommand.self, ListCommand.self]
    )
}

/// Names the attacks, one a line: `subqueries 2`.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the attacks.")

    func run() {
        for attack in Arsenal.attacks { writeLine("\(attack.name)\t\(attack.kind)\t\(attack.summary)") }
    }
}
