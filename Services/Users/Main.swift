import ServiceKit

/// The service that knows who is who: users, sessions and roles.
@main
struct Users {
    static func main() async throws {
        let hasher = PasswordHasher(cost: ScryptCost(try ServiceConfiguration(service: usersName)))
        await runService(usersPlan(hasher: hasher)) { buildUsers($0, &$1, hasher: hasher) }
    }
}
