import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Refusals whose text SDKs and apps check in addition to the code, in Parse Server's words.
@Suite struct RefusalTextTests {
    /// Clients, and names that no other test uses.
    struct World: Sendable {
        let suite: Suite
        let client: ParseClient
        let master: ParseClient
        let className = "Refusal\(Names.random(8))"

        var path: String { "/classes/\(className)" }

        func create(_ object: JSON) async throws -> ParseClient.Answer { try await client.create(className, object) }
        func find(_ condition: JSON) async throws -> ParseClient.Answer { try await client.find(className, condition) }
        func schema(_ fields: JSON) async throws -> ParseClient.Answer {
            try await master.call(.POST, "/schemas/\(className)", ["fields": fields])
        }
        func permit(_ permissions: JSON) async throws -> ParseClient.Answer {
            try await master.call(.POST, "/schemas/\(className)", ["classLevelPermissions": permissions])
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let code: Int
        /// `<C>` stands for the class.
        let text: String
        let ask: @Sendable (World) async throws -> ParseClient.Answer

        init(_ code: Int, _ text: String, _ ask: @escaping @Sendable (World) async throws -> ParseClient.Answer) {
            self.code = code
            self.text = text
            self.ask = ask
        }

        var testDescription: String { "\(code) \(text)" }
    }

    @Test(arguments: writes + queries + schemas + accounts + routes)
    func eachIsWordedAsTheProtocolHasIt(_ expected: Refusal) async throws {
        let suite = try await Suite.shared
        let world = World(suite: suite, client: ParseClient(suite), master: .master(suite))
        let answer = try await expected.ask(world)
        let text = expected.text.replacingOccurrences(of: "<C>", with: world.className)
        #expect(answer.code == expected.code, "\(answer.status) \(answer.text)")
        #expect(answer["error"] == .string(text), "\(answer.status) \(answer.text)")
        #expect(answer.status == (expected.code == 101 ? 404 : 400))
    }

    private static let badClass =
        "Invalid classname: a-b, classnames can only have alphanumeric characters and _, "
        + "and must start with an alpha character "

    private static let writes: [Refusal] = [
        .init(101, "Object not found.") { try await $0.client.call(.PUT, "\($0.path)/nothing", ["a": 1]) },
        .init(103, badClass) { try await $0.client.create("a-b", ["a": 1]) },
        .init(105, "objectId is an invalid field name.") { try await $0.create(["objectId": "abcdefghij"]) },
        .init(105, "id is an invalid field name.") { try await $0.create(["id": "abcdefghij"]) },
        .init(105, "Invalid field name: className.") { try await $0.create(["className": "Other"]) },
        .init(105, "Invalid field name: className.") {
            let id = try await $0.create(["a": 1]).objectId
            return try await $0.client.call(.PUT, "\($0.path)/\(id)", ["className": .string($0.className)])
        },
        .init(105, "Invalid field name: a-b.") { try await $0.create(["a-b": 1]) },
        .init(105, #"Prohibited keyword in request data: {"key":"__proto__"}."#) {
            try await $0.create(["a": ["b": ["__proto__": 1]]])
        },
        .init(105, #"Prohibited keyword in request data: {"key":"_bsontype","value":"Code"}."#) {
            try await $0.create(["a": ["_bsontype": "Code"]])
        },
        .init(107, "incrementing must provide a number") {
            try await $0.create(["a": ["__op": "Increment", "amount": "1"]])
        },
        .init(107, "objects to add must be an array") { try await $0.create(["a": ["__op": "Add", "objects": 1]]) },
        .init(111, "schema mismatch for <C>.a; expected Number but got String") {
            _ = try await $0.create(["a": 1])
            return try await $0.create(["a": "text"])
        },
        .init(111, "schema mismatch for <C>.a; expected Pointer<A> but got Pointer<B>") {
            _ = try await $0.create(["a": .pointer("A", "x")])
            return try await $0.create(["a": .pointer("B", "x")])
        },
        .init(111, "This is not a valid Polygon") { try await $0.create(["a": ["__type": "Polygon"]]) },
        .init(111, "This is not a valid Date") { try await $0.create(["a": ["__type": "Date"]]) },
        .init(111, "there can only be one geopoint field in a class") {
            let place: JSON = ["__type": "GeoPoint", "latitude": 1, "longitude": 1]
            return try await $0.create(["a": place, "b": place])
        },
        .init(121, "Nested keys should not contain the '$' or '.' characters") {
            try await $0.create(["a": ["b.c": 1]])
        },
        .init(119, "Permission denied for action create on class <C>.") {
            _ = try await $0.permit(["find": ["*": true]])
            return try await $0.create(["a": 1])
        },
        .init(119, "Permission denied for action addField on class <C>.") {
            _ = try await $0.permit(["create": ["*": true]])
            return try await $0.create(["a": 1])
        },
        .init(101, "Permission denied, user needs to be authenticated.") {
            _ = try await $0.permit(["create": ["requiresAuthentication": true]])
            return try await $0.create(["a": 1])
        },
        .init(142, "a is required") {
            _ = try await $0.schema(["a": ["type": "Number", "required": true]])
            return try await $0.create([:])
        },
    ]

    private static let queries: [Refusal] = [
        .init(103, badClass) { try await $0.client.find("a-b") },
        .init(105, "Invalid key name: a-b") { try await $0.find(["a-b": 1]) },
        .init(102, "Cannot query on ACL.") { try await $0.find(["ACL": ["*": ["read": true]]]) },
        .init(102, "Bad $or format - use an array value.") { try await $0.find(["$or": 1]) },
        .init(102, "Bad $and format - use an array value.") { try await $0.find(["$and": ["a": 1]]) },
        .init(102, "Bad $nor format - use an array of at least 1 value.") { try await $0.find(["$nor": []]) },
        .init(102, "Bad $options value for query: q") { try await $0.find(["a": ["$regex": "a", "$options": "q"]]) },
        .init(102, "improper usage of $inQuery") { try await $0.find(["a": ["$inQuery": [:]]]) },
        .init(102, "Improper encode of parameter") { try await $0.client.get("\($0.path)/x", ["where": [:]]) },
        .init(102, "Invalid parameter for query: nothing") { try await $0.client.get($0.path, ["nothing": 1]) },
        .init(107, "bad constraint: $nothing") { try await $0.find(["a": ["$nothing": 1]]) },
        .init(107, "bad $in value") { try await $0.find(["a": ["$in": 1]]) },
        .init(107, "bad $nin value") { try await $0.find(["a": ["$nin": 1]]) },
        .init(107, "bad $all value") { try await $0.find(["a": ["$all": 1]]) },
        .init(107, "bad $containedBy: should be an array") { try await $0.find(["a": ["$containedBy": 1]]) },
        .init(107, "bad regex: 1") { try await $0.find(["a": ["$regex": 1]]) },
        .init(107, "bad $text: $search, should be object") { try await $0.find(["a": ["$text": ["$search": "x"]]]) },
        .init(107, "bad $text: $term, should be string") {
            try await $0.find(["a": ["$text": ["$search": ["$term": 1]]]])
        },
        .init(107, "bad $text: $language, should be string") {
            try await $0.find(["a": ["$text": ["$search": ["$term": "x", "$language": 1]]]])
        },
        .init(107, "bad $text: $caseSensitive, should be boolean") {
            try await $0.find(["a": ["$text": ["$search": ["$term": "x", "$caseSensitive": 1]]]])
        },
        .init(107, "bad $geoWithin value; $polygon should contain at least 3 GeoPoints") {
            try await $0.find(["a": ["$geoWithin": ["$polygon": [[0, 0], [1, 1]]]]])
        },
        .init(119, "This user is not allowed to query a on class <C>") {
            _ = try await $0.master.create($0.className, ["a": 1])
            _ = try await $0.master.call(
                .PUT, "/schemas/\($0.className)",
                ["classLevelPermissions": ["find": ["*": true], "protectedFields": ["*": ["a"]]]])
            return try await $0.find(["a": 1])
        },
    ]

    private static let schemas: [Refusal] = [
        .init(103, badClass) { try await $0.master.call(.POST, "/schemas/a-b", [:]) },
        .init(103, "Class <C> does not exist.") { try await $0.master.get("/schemas/\($0.className)") },
        .init(103, "Class <C> already exists.") {
            _ = try await $0.schema([:])
            return try await $0.schema([:])
        },
        .init(103, "Class name mismatch between Other and <C>.") {
            try await $0.master.call(.POST, "/schemas/\($0.className)", ["className": "Other"])
        },
        .init(107, "invalid JSON") { try await $0.schema(["a": ["type": "Pointer", "targetClass": 242]]) },
        .init(103, badClass) { try await $0.schema(["a": ["type": "Pointer", "targetClass": "a-b"]]) },
        .init(135, "type Pointer needs a class name") { try await $0.schema(["a": ["type": "Pointer"]]) },
        .init(111, "invalid field type: Nothing") { try await $0.schema(["a": ["type": "Nothing"]]) },
        .init(105, "invalid field name: a-b") { try await $0.schema(["a-b": ["type": "String"]]) },
        .init(136, "field createdAt cannot be added") { try await $0.schema(["createdAt": ["type": "String"]]) },
        .init(111, "schema mismatch for <C>.a default value; expected Number but got String") {
            try await $0.schema(["a": ["type": "Number", "defaultValue": "text"]])
        },
        .init(255, "Class <C> is not empty, contains 1 objects, cannot drop schema.") {
            _ = try await $0.create(["a": 1])
            return try await $0.master.call(.DELETE, "/schemas/\($0.className)")
        },
    ]

    private static let accounts: [Refusal] = [
        .init(200, "bad or missing username") { try await $0.client.call(.POST, "/users", ["password": "secret1"]) },
        .init(201, "password is required") {
            try await $0.client.call(.POST, "/users", ["username": .string($0.className)])
        },
        .init(125, "Email address format is invalid.") {
            try await $0.client.call(
                .POST, "/users", ["username": .string($0.className), "password": "secret1", "email": "nothing"])
        },
        .init(105, "Invalid field name: className.") {
            try await $0.client.call(
                .POST, "/users", ["username": .string($0.className), "password": "secret1", "className": "_User"])
        },
        .init(105, "Invalid field name: className.") {
            let anonymous: JSON = ["anonymous": ["id": .string("id\(Names.random(20))")]]
            return try await $0.client.call(.POST, "/classes/_User", ["authData": anonymous, "className": "_User"])
        },
        .init(105, "Invalid field name: className.") {
            let anonymous: JSON = ["authData": ["anonymous": ["id": .string("id\(Names.random(20))")]]]
            let known = try await $0.client.call(.POST, "/users", anonymous)
            try #require(known.status == 201, "\(known.text)")
            var again = anonymous
            again["className"] = "_User"
            return try await $0.client.call(.POST, "/users", again)
        },
        .init(105, "Invalid field name: className.") {
            let customer = try await Customer.signUp($0.suite)
            return try await customer.client.call(.PUT, "/users/\(customer.userId)", ["className": "_User"])
        },
        .init(200, "username/email is required.") {
            try await $0.client.call(.POST, "/login", ["password": "secret1"])
        },
        .init(101, "Invalid username/password.") {
            try await $0.client.call(.POST, "/login", ["username": .string($0.className), "password": "secret1"])
        },
        .init(209, "Invalid session token") {
            var client = $0.client
            client.sessionToken = "r:00000000000000000000000000000000"
            return try await client.get($0.path)
        },
        .init(206, "Cannot modify user nobody1234.") {
            try await $0.client.call(.PUT, "/users/nobody1234", ["phone": "1"])
        },
        .init(105, "Cannot set ACL on a Session.") {
            let customer = try await Customer.signUp($0.suite)
            let id = try await customer.client.get("/sessions/me").objectId
            return try await customer.client.call(.PUT, "/sessions/\(id)", ["ACL": [:]])
        },
        .init(111, "ACL is required.") { try await $0.master.call(.POST, "/roles", ["name": .string($0.className)]) },
        .init(135, "at least one ID field (deviceToken, installationId) must be specified in this operation") {
            try await $0.client.call(.POST, "/installations", ["deviceType": "ios"])
        },
        .init(135, "deviceType must be specified in this operation") {
            try await $0.client.call(.POST, "/installations", ["installationId": .string($0.className)])
        },
    ]

    private static let routes: [Refusal] = [
        .init(119, "Clients aren't allowed to perform the find operation on the _JobStatus collection.") {
            try await $0.client.find("_JobStatus")
        },
        .init(119, "Clients aren't allowed to perform the get operation on the _PushStatus collection.") {
            try await $0.client.get("/classes/_PushStatus/abcdefghij")
        },
        .init(119, "Clients aren't allowed to perform the create operation on the _JobSchedule collection.") {
            try await $0.client.create("_JobSchedule", ["a": 1])
        },
        .init(119, "Clients aren't allowed to perform the delete operation on the _Idempotency collection.") {
            try await $0.client.call(.DELETE, "/classes/_Idempotency/abcdefghij")
        },
        .init(119, "Clients aren't allowed to perform the find operation on the installation collection.") {
            try await $0.client.find("_Installation")
        },
        .init(141, "Invalid function: \"nothing\"") { try await $0.client.run("nothing") },
        .init(141, "Invalid job.") { try await $0.master.call(.POST, "/jobs/nothing", [:]) },
        .init(115, "Channels and query can not be set at the same time.") {
            try await $0.master.call(.POST, "/push", ["channels": ["a"], "where": [:], "data": ["alert": "a"]])
        },
    ]
}
