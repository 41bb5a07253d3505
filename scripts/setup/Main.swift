import ArgumentParser

/// `satchel-setup`: what a new shop needs before its first customer. Talks to a running gateway over HTTP with the
/// master key, as any other client could.
@main
struct SatchelSetup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-setup",
        abstract: "Prepares a running Satchel: the first admin, the demo shop, products for benchmarks.",
        subcommands: [FirstAdmin.self, DemoShop.self, Products.self]
    )
}
