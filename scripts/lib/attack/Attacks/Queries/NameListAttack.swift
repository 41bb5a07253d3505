import ParseProtocol
import SuiteClient

/// Lists of names that are read, compared and joined for each row.
struct NameListAttack: Attack {
    let name = "names"
    let kind = "queries"
    let summary = "100,000 names in keys, excludeKeys, include and order"
    let connections = 100

    func prepare(_ master: Master) async throws { try await LongTextObjects.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        func names(_ count: Int) -> JSON { .string((0..<count).map { "name\($0)" }.joined(separator: ",")) }
        let many = names(100_000)
        let options: [[String: JSON]] = [
            ["keys": many], ["excludeKeys": many], ["keys": many, "include": many], ["order": many],
            ["include": names(5000)], ["keys": names(5000), "order": names(500)],
        ]
        let requests = options.map {
            Request.query("/classes/Leaflet", $0.merging(["limit": 1000]) { own, _ in own }).bytes(
                for: attackers.target)
        }
        await attackers.hammer(until: end) { connection, round in requests[(connection + round) % requests.count] }
    }
}
