import ParseProtocol
import TestSupport
import Testing

/// Lists of the desk tell the number of everything, however few rows they show.
@Suite struct ListCountTests {
    @Test func listsCountEverything() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let shelf = try await Shelf.fill(suite, names: ["Counted \(Names.random(6))"])
        let from = Timestamp.now.advanced(by: .seconds(-60))
        for _ in 0..<2 { _ = try await Customer.signUp(suite).order(shelf.productIds[0]) }
        let charges = try await admin.run(
            "charges", ["count": true, "limit": 1, "state": "succeeded", "from": from.wire])
        #expect(charges.result["results"]?.arrayValue?.count == 1, "\(charges.text)")
        #expect((charges.result["count"]?.intValue ?? 0) >= 2, "\(charges.text)")
        let later = from.advanced(by: .seconds(3600)).wire
        #expect(try await admin.run("charges", ["count": true, "from": later]).result["count"] == 0)
        #expect(try await admin.run("charges", ["limit": 1]).result.arrayValue?.count == 1)
        try await eventually("both mails are there") {
            try await admin.run("mails", ["count": true, "limit": 1]).result["count"]?.intValue ?? 0 >= 2
        }
        for name in ["charges", "mails", "reviewsToModerate", "crashIssues"] {
            let counted = try await admin.run(name, ["count": true, "limit": 1000])
            #expect(counted.result["results"]?.arrayValue != nil, "\(name): \(counted.text)")
            #expect(counted.result["count"]?.intValue != nil, "\(name): \(counted.text)")
            #expect(try await admin.run(name, ["count": "yes"]).code == 142, "\(name)")
        }
    }
}
