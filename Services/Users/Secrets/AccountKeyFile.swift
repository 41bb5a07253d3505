import ProcessKit
import ServiceKit

/// The file with the account key.
package struct AccountKeyFile {
    private let file: KeyFile

    package init(path: String, record: String? = nil) { file = KeyFile(path: path, record: record) }

    /// - Throws: `StartupProblem` when it can be neither read nor created, or is not a key.
    package func key() throws -> AccountKey { AccountKey(try file.key()) }
}

extension AccountKeyFile {
    /// `SATCHEL_USERS_KEY_FILE`, or `users.key` in the data directory.
    init(_ configuration: ServiceConfiguration) {
        self.init(
            path: configuration.settings.text(
                "satchel.users.key.file", default: configuration.dataDirectory + "/users.key"),
            record: configuration.memberRecord("users.key"))
    }
}
