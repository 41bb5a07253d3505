import ParseProtocol
import SuiteClient

/// Many patterns in one condition, on the class that every sign-in uses.
struct PatternAttack: Attack {
    let name = "patterns"
    let kind = "queries"
    let summary = "490 costly patterns in each query of the users, and of long texts"
    let connections = 100

    func prepare(_ master: Master) async throws { try await LongTextObjects.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let users = (0..<490).map { number -> JSON in
            ["username": ["$regex": .string("^([a-z0-9]{1,9})+(?#\(number))[^a-z0-9@.]")]]
        }
        let leaflets = (0..<490).map { ["text": LongTextObjects.pattern($0)] as JSON }
        let requests = [("/classes/_User", users), ("/users", users), ("/classes/Leaflet", leaflets)].map {
            path, branches in
            Request.query(path, ["where": ["$or": .array(branches)]]).bytes(for: attackers.target)
        }
        await attackers.hammer(until: end) { connection, _ in requests[connection % requests.count] }
    }
}
