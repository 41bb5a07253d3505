import ServiceKit

/// The service that knows who is who: users, sessions and roles.
@main
struct Users {
    static func main() async {
        await runService {
            let configuration = try ServiceConfiguration(service: usersName)
            let hashers = try PasswordHashers(configuration.settings)
            let rules = UserRules(
                hasher: hashers.newPasswords, providers: try IdentityProviders(configuration.settings),
                settings: try UsersSettings(configuration.settings), messages: AccountMessages(),
                key: try AccountKeyFile(configuration).key())
            return (usersPlan(rules), { buildUsers($0, &$1, rules: rules, signIns: hashers.signIns) })
        }
    }
}
