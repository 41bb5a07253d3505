import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// T6b: quotas per user and address limit what clients store, but never the operator.
@Suite struct StorageQuotaTests {
    @Test func filesArePacedByCountAndBytes() async throws {
        let suite = try await QuotaSuites.small
        let home = Neighbour(suite)
        let small = Array("0123456789".utf8)
        let ann = try await home.user()
        // `userFilesMax` allows three files; the hourly quota would allow four.
        let counted = try await Neighbour.count(10) { _ in try await ann.upload(small) }
        #expect(counted.admitted == 3, "\(counted)")
        #expect(counted.refusal?.code == 130, "\(counted)")
        // 300,000 bytes an hour for the address, summed over all its clients.
        let large = [UInt8](repeating: 65, count: 120_000)
        let bob = try await home.user()
        let bytes = try await Neighbour.count(10) { _ in try await bob.upload(large) }
        #expect(bytes.admitted == 2, "\(bytes)")
        #expect(bytes.refusal?.isPaced == true, "\(bytes)")
        #expect(try await home.user().upload(large).isPaced, "Another user of the address has no more.")
        #expect(try await Neighbour(suite).user().upload(large).status == 201, "Another address has its own.")
        for operate in [ParseClient.master(suite), try await Customer.admin(suite)] {
            for _ in 0..<6 {
                #expect(try await operate.upload(large, as: "a.txt", type: "text/plain").status == 201)
            }
        }
    }

    /// The original attack stored 200 MB within 1.1 s.
    @Test func aUserDoesNotFillTheDiskInASecond() async throws {
        let suite = try await QuotaSuites.standard
        let attacker = try await Neighbour(suite).user()
        let content = [UInt8](repeating: 65, count: 10 << 20)
        let (admitted, refusal) = try await Neighbour.count(20) { _ in try await attacker.upload(content) }
        #expect(admitted <= 10, "\(admitted * 10) MiB taken")
        #expect(refusal?.isPaced == true, "\(admitted * 10) MiB taken")
    }

    @Test func eventsArePacedByCountAndBytes() async throws {
        let suite = try await QuotaSuites.small
        let home = Neighbour(suite)
        let ann = try await home.anonymousUser()
        let counted = try await Neighbour.count(20) { _ in try await ann.call(.POST, "/events/Tap") }
        #expect(counted.admitted == 7, "\(counted)")
        #expect(counted.refusal?.isPaced == true, "\(counted)")
        let wide: JSON = ["dimensions": ["text": .string(String(repeating: "x", count: 400))]]
        let bytes = try await Neighbour.count(100) { _ in try await home.call(.POST, "/events/Tap", wide) }
        #expect(bytes.admitted < 40, "\(bytes)")
        #expect(bytes.refusal?.isPaced == true, "\(bytes)")
        #expect(try await Neighbour(suite).call(.POST, "/events/Tap", wide).status == 200)
        for _ in 0..<12 {
            #expect(try await Customer.admin(suite).call(.POST, "/events/Tap", wide).status == 200)
        }
    }

    /// The original attack stored 80 MB of events within 15 s.
    @Test func anAddressDoesNotFillTheLogOfEvents() async throws {
        let suite = try await QuotaSuites.standard
        let attacker = Neighbour(suite)
        var dimensions: JSON = [:]
        for index in 0..<8 {
            dimensions["\(index)" + String(repeating: "k", count: 400)] = .string(String(repeating: "v", count: 500))
        }
        let event: JSON = ["dimensions": dimensions]
        let (admitted, refusal) = try await Neighbour.count(2000) { _ in
            try await attacker.call(.POST, "/events/Tap", event)
        }
        #expect(refusal?.isPaced == true, "\(admitted) events of \(event.serialized.count) bytes taken")
        #expect(admitted * event.serialized.count <= 8 << 20)
    }

    @Test func objectsArePacedByCountAndBytes() async throws {
        let suite = try await QuotaSuites.small
        let master = ParseClient.master(suite)
        let name = "Note\(Names.random(6))"
        #expect(try await master.create(name, ["text": "a"]).status == 201)
        let home = Neighbour(suite)
        let ann = try await home.anonymousUser()
        let created = try await Neighbour.count(60) { _ in
            try await ann.call(.POST, "/classes/\(name)", ["text": "b"])
        }
        #expect(created.admitted == 12, "\(created)")
        #expect(created.refusal?.isPaced == true, "\(created)")
        // Each request of a batch counts, and those before the refusal succeed.
        let bob = try await home.anonymousUser()
        let requests = (0..<20).map { _ -> JSON in
            ["method": "POST", "path": .string("/parse/classes/\(name)"), "body": ["text": "c"]]
        }
        let outcomes = try await bob.call(.POST, "/batch", ["requests": .array(requests)]).json.arrayValue ?? []
        #expect(outcomes.count { $0["success"] != nil } == 12)
        #expect(outcomes.count { $0.at("error", "code") == 155 } == 8)
        // Without an account, the address counts: 24 of its 40 are used.
        let rest = try await Neighbour.count(60) { _ in try await home.call(.POST, "/classes/\(name)", ["text": "d"]) }
        #expect(rest.admitted <= 16, "\(rest)")
        #expect(rest.refusal?.isPaced == true, "\(rest)")
        // Existing objects can be changed and deleted; bytes count in changes too.
        let cat = try await Neighbour(suite).anonymousUser()
        let object = try await cat.call(.POST, "/classes/\(name)", ["text": "e"])
        let long: JSON = ["text": .string(String(repeating: "x", count: 11_000))]
        let changed = try await Neighbour.count(20) { _ in
            try await cat.call(.PUT, "/classes/\(name)/\(object.objectId)", long)
        }
        #expect(changed.admitted == 5, "\(changed)")
        #expect(changed.refusal?.isPaced == true, "\(changed)")
        #expect(try await cat.call(.DELETE, "/classes/\(name)/\(object.objectId)").status == 200)
        for operate in [master, try await Customer.admin(suite)] {
            for _ in 0..<20 { #expect(try await operate.create(name, long).status == 201) }
        }
    }

    /// With less free disk space than the setting requires, clients can add nothing, but the operator can.
    @Test func theLastOfTheDiskIsTheOperators() async throws {
        try await Suite.with(settings: ["SATCHEL_QUOTAS": "diskFreeBytesMin=1000000000000"]) { suite in
            let client = ParseClient(suite)
            #expect(try await client.create("Note", ["a": 1]).status == 503)
            let signUp = try await client.call(.POST, "/users", ["authData": ["anonymous": ["id": "0123456789abcdef"]]])
            #expect(signUp.status == 503, "\(signUp.text)")
            #expect(signUp.code == 2, "\(signUp.text)")
            #expect(try await client.call(.POST, "/events/Tap", [:]).status == 503)
            for operate in [ParseClient.master(suite), try await Customer.admin(suite)] {
                #expect(try await operate.create("Note", ["a": 1]).status == 201)
                #expect(try await operate.upload([65], as: "a.txt", type: "text/plain").status == 201)
            }
        }
    }
}
