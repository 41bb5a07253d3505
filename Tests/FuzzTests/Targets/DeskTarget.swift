import Messages
import ParseProtocol
@preconcurrency import PushService
import ServiceSupport
@preconcurrency import UsersService

/// Parameters of operator functions that read or change other users' data: any JSON, against stores with some accounts
/// and devices.
struct DeskTarget: FuzzTarget {
    let name = "desk"
    let testInputs = 1500
    let dictionary = [
        "search", "limit", "userId", "firstName", "lastName", "name", "phone", "email", "username", "password", "ACL",
        "__op", "Delete", "ann", "ANN@", "lee", "%", "_", "'", "\"", "\\", "\u{10FFFF}", "ﬁ", "ß", "\0", " ", "  ",
        "null", "1e9", "-1", "audience", "channels", "where", "news", "all", "$in", "$or", "deviceType", "ios",
    ]

    private let sandbox: SandboxStore
    private let push: SandboxStore
    private static let devices = 12

    private static let shown: Set<String> = [
        "objectId", "username", "email", "emailVerified", "firstName", "lastName", "name", "createdAt", "isOperator",
    ]
    private static let changed: Set<String> = ["firstName", "lastName", "name", "phone", "email", "username"]

    init() async throws {
        let key = AccountKey((0..<UInt8(AccountKey.bytes)).map { $0 })
        sandbox = try await SandboxStore(
            usersPlan(hasher: PasswordHasher(cost: ScryptCost(parallelism: 1)), key: key))
        for (index, name) in ["Ann", "ann lee", "Ä", "ﬁne", "%", "_x", "ß", "Lee\u{10FFFF}"].enumerated() {
            let user: JSON = [
                "username": .string("\(name)\(index)"), "password": "secret-word", "firstName": .string(name),
                "lastName": "Lee", "email": .string("ann\(index)@example.com"),
            ]
            try await sandbox.apply(.create, "_User", nil, user, as: .init())
        }
        push = try await SandboxStore(pushPlan)
        for index in 0..<Self.devices {
            let device: JSON = [
                "deviceType": index.isMultiple(of: 3) ? "android" : "ios", "deviceToken": .string("token\(index)"),
                "badge": .int(Int64(index % 4)), "channels": index.isMultiple(of: 2) ? ["news"] : [],
            ]
            try await push.store.write { transaction in
                _ = try transaction.create("_Installation", device, caller: .master)
            }
        }
    }

    func generate(_ random: inout Seeded) -> [UInt8] {
        var parameters: JSON = [:]
        if random.chance(50) {
            var queries = RandomQuery(fields: [("deviceType", .string), ("badge", .number)], values: [:])
            parameters["audience"] = random.pick([
                "all", ["channels": ["news"]], ["channels": random.pick(ValueKind.strings)], .null,
                ["where": queries.condition(&random)], ["where": random.pick(ValueKind.strings)], ["x": 1],
            ])
        }
        if random.chance(70) {
            parameters["search"] =
                random.chance(50) ? random.pick(["ann", "ANN", "lee", "le", "fi"]) : random.pick(ValueKind.strings)
        }
        if random.chance(40) { parameters["limit"] = random.pick(ValueKind.numbers) }
        if random.chance(70) { parameters["userId"] = random.pick(["uV3kQ9xWmB", "", 1, ["$ne": ""]]) }
        for name in Self.changed.sorted() where random.chance(30) {
            parameters[name] = ValueKind.any(&random, depth: 1)
        }
        return parameters.serialized
    }

    func run(_ input: [UInt8]) async throws -> String {
        guard let parameters = try? JSON(clientText: input) else { return "no JSON" }
        return try await [
            step(input) { try await find(parameters) }, step(input) { try edit(parameters) },
            step(input) { try await count(parameters) },
        ].joined(separator: " ")
    }

    private func step(_ input: [UInt8], _ body: () async throws -> String) async throws -> String {
        do {
            return try await body()
        } catch let violation as Violation {
            throw violation
        } catch {
            return try PublicError.check(error, input: input)
        }
    }

    /// Results start with the search text, respect the limit, and contain only the expected members.
    private func find(_ parameters: JSON) async throws -> String {
        let search = try AccountSearch(parameters)
        let found = try await sandbox.store.read { try search.find(in: $0) }
        let results = found["results"]?.arrayValue ?? []
        try require(results.count <= min(parameters["limit"]?.intValue ?? 25, 50), "\(results.count) accounts")
        let start = PersonNames.compared(parameters["search"]?.stringValue ?? "")
        for account in results {
            let members = Set((account.objectValue ?? [:]).keys)
            try require(members.isSubset(of: Self.shown), "An account shows \(members).")
            let identities = ["email", "username"].compactMap { account[$0]?.stringValue }.map(PersonNames.compared)
            let names = PersonNames.values(of: account).union(identities)
            try require(names.contains { $0.utf8.starts(with: start.utf8) }, "\(names) do not begin with \(start).")
        }
        return "\(results.count)"
    }

    /// At most the number of devices, and exactly that for a push to everyone.
    private func count(_ parameters: JSON) async throws -> String {
        let count = try AudienceCount(PromotionAudience(parameters["audience"]))
        let counted = try await push.store.read { try count.read(from: $0) }
        let devices = counted["devices"]?.intValue ?? -1
        try require((0...Int64(Self.devices)).contains(devices), "\(devices) devices")
        try require(counted["isEstimate"] == false, "A guess at \(Self.devices) devices")
        if parameters["audience"] == "all" { try require(devices == Self.devices, "\(devices) devices are everybody.") }
        return "\(devices)"
    }

    /// An edit changes only permitted fields, and only admins change an address.
    private func edit(_ parameters: JSON) throws -> String {
        let stored: JSON = ["username": "ann@example.com", "email": "Ann@example.com"]
        if let edit = try? AccountEdit(parameters, byAdmin: false) {
            try require(edit.object(for: stored)["email"] == nil, "Support changed an address.")
        }
        let object = try AccountEdit(parameters, byAdmin: true).object(for: stored)
        let members = Set((object.objectValue ?? [:]).keys)
        try require(!members.isEmpty && members.isSubset(of: Self.changed), "An edit of \(members)")
        try require(object["username"] == object["email"], "A user name that is no address was changed.")
        return members.sorted().joined(separator: ",")
    }
}
