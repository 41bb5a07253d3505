import ArgumentParser

@main struct MoveIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-move-in", abstract: "Moves the data of a Parse app in.")
}
