import NIOCore
import SuiteClient

/// Names and texts of combining marks only, which Swift normalises and sorts to hash or compare.
struct MarksAttack: Attack {
    let name = "marks"
    let kind = "queries"
    let summary = "names and texts of 80,000 combining marks, half of them without an application id"
    let connections = 40

    private static let count = 80_000

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        // In an order that requires sorting.
        let marks: [Unicode.Scalar] = ["\u{301}", "\u{316}", "\u{328}", "\u{345}"]
        var text = String.UnicodeScalarView()
        for _ in 0..<Self.count { text.append(marks[Int.random(in: 0...3)]) }
        let run = String(text)
        let bodies = ["{\"a\(run)\":1}", "{\"o\":{\"a\(run)\":1}}", "{\"firstName\":\"a\(run)\"}"]
        let paths = ["/classes/Leaflet", "/users", "/functions/addToBag", "/events/Seen"]
        let requests = paths.flatMap { path in
            bodies.flatMap { body in
                [true, false].map { isAuthorized in
                    Request.bytes(
                        for: attackers.target, method: "POST", path: path, content: Array(body.utf8),
                        type: "application/json", isAuthorized: isAuthorized)
                }
            }
        }
        await attackers.hammer(until: end) { connection, round in requests[(connection + round) % requests.count] }
    }
}
