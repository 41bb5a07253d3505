import ServiceKit

/// The service for accounts: users, sessions and roles.
package enum UsersProgram {
    package static func main() async {
        await runService {
            let configuration = try ServiceConfiguration(service: usersName)
            let hashers = try PasswordHashers(configuration.settings)
            let means = AccountDependencies(
                hasher: hashers.newPasswords, providers: try IdentityProviders(configuration.settings),
                settings: try UsersSettings(configuration.settings), key: try AccountKeyFile(configuration).key())
            return (usersPlan(means), { buildUsers($0, &$1, means, signIns: hashers.signIns) })
        }
    }
}
