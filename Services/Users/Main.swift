import ServiceKit

/// The service that knows who is who: users, sessions and roles.
@main
struct Users {
    static func main() async {
        await runService {
            let configuration = try ServiceConfiguration(service: usersName)
            let hashers = try PasswordHashers(configuration.settings)
            let means = AccountMeans(
                hasher: hashers.newPasswords, providers: try IdentityProviders(configuration.settings),
                settings: try UsersSettings(configuration.settings), key: try AccountKeyFile(configuration).key())
            return (usersPlan(means), { buildUsers($0, &$1, means, signIns: hashers.signIns) })
        }
    }
}
