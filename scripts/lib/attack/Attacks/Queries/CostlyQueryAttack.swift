import ParseProtocol
import SuiteClient

/// Other query features that cost more than they seem to: sorting, text, geo queries, long lists, counts, skips and
/// aggregates.
struct CostlyQueryAttack: Attack {
    let name = "costly"
    let kind = "queries"
    let summary = "costly order, text, places, lists, counts, sub-selects and aggregates"
    let connections = 100

    func prepare(_ master: Master) async throws { try await LongTextObjects.prepare(master) }

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let requests = Self.requests.map { $0.bytes(for: attackers.target) }
        await attackers.hammer(until: end) { connection, round in requests[(connection + round) % requests.count] }
    }

    private static var requests: [Request] {
        let path = "/classes/Leaflet"
        let order = JSON.string((0..<10).map { "text\($0 == 0 ? "" : ".x\($0)"),-number" }.joined(separator: ","))
        let words = JSON.string((0..<200).map { "word\($0)" }.joined(separator: " "))
        let search: JSON = ["text": ["$text": ["$search": ["$term": words]]]]
        let corners = (0..<5000).map { number -> JSON in
            ["__type": "GeoPoint", "latitude": .int(Int64(number % 89)), "longitude": .int(Int64(number % 179))]
        }
        let inside: JSON = ["place": ["$geoWithin": ["$polygon": .array(corners)]]]
        let texts = JSON.array((0..<20_000).map { .string("text\($0)") })
        let near: JSON = [
            "place": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]],
            "text": LongTextObjects.pattern(0),
        ]
        let select: JSON = [
            "text": [
                "$select": [
                    "key": "text", "query": ["className": "Leaflet", "where": ["text": LongTextObjects.pattern(1)]],
                ]
            ]
        ]
        let pipeline: JSON = [
            ["$match": ["text": LongTextObjects.pattern(2)]], ["$group": ["_id": "$text", "n": ["$sum": "$number"]]],
        ]
        return [
            .query(path, ["order": order, "limit": 1000]), .query(path, ["where": search, "order": "$score"]),
            .query(path, ["where": inside]), .query(path, ["where": ["text": ["$nin": texts]]]),
            .query(path, ["where": near, "limit": 1000]), .query(path, ["where": select]),
            .query(path, ["where": ["text": LongTextObjects.pattern(3)], "count": 1, "limit": 0, "skip": 1_000_000]),
            .query("/aggregate/Leaflet", ["pipeline": pipeline]),
        ]
    }
}
