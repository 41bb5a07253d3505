import ServiceKit

/// The service that knows who is who: users, sessions and roles.
@main
struct Users {
    static func main() async {
        await runService {
            let configuration = try ServiceConfiguration(service: usersName)
            let hashers = PasswordHashers(configuration)
            let means = AccountMeans(
                hasher: hashers.newPasswords, providers: try IdentityProviders(configuration.reader),
                settings: try UsersSettings(configuration.reader), key: try AccountKeyFile(configuration).key())
            return (usersPlan(means), { buildUsers($0, &$1, means, signIns: hashers.signIns) })
        }
    }
}
