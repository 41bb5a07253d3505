import Foundation

/// `satchel-setup`: creates the data that a new shop needs before its first customer. Calls a running gateway over HTTP
/// with the master key, as any other client could. Exits with 1 on failure.
@main
enum SatchelSetup {
    private static let usage = """
        Prepares a running Satchel.

        satchel-setup first-admin --username NAME --password-file FILE [--role ROLE] [--url URL]
            Signs up a user, when absent, and adds them to a role, which is admins. The file's content is the password
            of a new user; the shop's apps expect an e-mail address as the name.
        satchel-setup demo-shop [--unmark] [--data FILE] [--url URL]
            Loads brands, products, stores, pages, promotions and reviews. With --unmark it loads nothing and only
            takes the marks of earlier releases from the demo's objects.
        satchel-setup products --count N [--data FILE] [--url URL]
            Adds generated products until the catalog has N of them, for benchmarks.
        satchel-setup verify [--backup FOLDER] [--json] [--url URL]
            Checks the books of the shop or of a backup. Exits with 1 when something is wrong, with 2 when a part
            could not be checked.
        satchel-setup verify --rebuild sales [--url URL]
            Writes the sales and refunds in analytics anew from the shop's orders.

          --url    the gateway with its mount path; else SATCHEL_PUBLIC_URL, else from SATCHEL_HOST, SATCHEL_PORT and
                   SATCHEL_MOUNT
          --data   the demo shop's file; else scripts/lib/demo/shop.json of this checkout

        The master key comes from SATCHEL_MASTER_KEY, else from the file master.key in SATCHEL_DATA.
        """

    static func main() async {
        do {
            try await run(CommandLine.arguments.dropFirst())
        } catch {
            FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
            exit(CommandLine.arguments.dropFirst().first == "verify" ? 2 : 1)
        }
    }

    private static func run(_ words: ArraySlice<String>) async throws {
        if words.isEmpty || words.contains("--help") || words.contains("-h") { return writeLine(usage) }
        let options = words.dropFirst()
        switch words.first {
        case "first-admin": try await FirstAdmin(options).run()
        case "demo-shop": try await DemoShop(options).run()
        case "products": try await Products(options).run()
        case "verify": exit(try await Verify(options).run())
        default: throw SetupError.invalid("There is no command \(words.first ?? ""); see satchel-setup --help.")
        }
    }
}
