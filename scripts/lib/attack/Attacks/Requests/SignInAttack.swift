import ParseProtocol
import SuiteClient

/// Wrong passwords and sign-ups, each of which requires a password hash.
struct SignInAttack: Attack {
    let name = "sign-in"
    let kind = "sign-in"
    let summary = "wrong passwords of the admin and of unknown users, and sign-ups, as fast as they are answered"
    let connections = 40

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let target = attackers.target
        await attackers.hammer(until: end) { connection, _ in
            let stranger = JSON.string("\(Names.random(8).lowercased())@strangers.example")
            let password = JSON.string(Names.random(10))
            return switch connection % 4 {
            case 0, 1:
                Request.post("/login", ["username": .string(Operator.username), "password": password]).bytes(
                    for: target)
            case 2: Request.post("/login", ["username": stranger, "password": password]).bytes(for: target)
            default: Request.post("/users", ["username": stranger, "password": password]).bytes(for: target)
            }
        }
    }
}
