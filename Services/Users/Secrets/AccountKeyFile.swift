import ProcessKit
import ServiceKit

/// The file that holds the accounts' key.
package struct AccountKeyFile {
    private let file: KeyFile

    package init(path: String) { file = KeyFile(path: path) }

    /// - Throws: `StartupProblem` when it can be neither read nor made, or is no key.
    package func key() throws -> AccountKey { AccountKey(try file.key()) }
}

extension AccountKeyFile {
    /// `SATCHEL_USERS_KEY_FILE`, or `users.key` in the data directory.
    init(_ configuration: ServiceConfiguration) {
        self.init(
            path: configuration.settings.text(
                "satchel.users.key.file", default: configuration.dataDirectory + "/users.key"))
    }
}
