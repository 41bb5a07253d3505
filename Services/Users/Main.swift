import ServiceKit

/// The service that knows who is who: users, sessions and roles.
@main
struct Users {
    static func main() async throws {
        let hashers = PasswordHashers(cost: ScryptCost(try ServiceConfiguration(service: usersName)))
        await runService(usersPlan(hasher: hashers.newPasswords)) { buildUsers($0, &$1, hashers: hashers) }
    }
}
