import ParseProtocol

/// What the suite serves to the master key: for the proof of a move, and for moving out.
protocol ServedSuite: Sendable {
    /// The body that answers a GET.
    func answer(_ path: String, _ options: [String: JSON]) async throws -> [UInt8]
    /// Lines of id and JSON text: what no object shows and another server needs.
    func secrets(of className: String, after id: String, limit: Int) async throws -> [UInt8]
}

extension ServedSuite {
    func json(_ path: String, _ options: [String: JSON] = [:]) async throws -> JSON {
        let bytes = try await answer(path, options)
        do { return try JSON(parsing: bytes) } catch { throw MoveInError("The suite's answer is no JSON: \(error)") }
    }

    /// The suite's classes in the form of Parse's schema route.
    func servedSchemas() async throws -> [JSON] { try await json("/schemas")["results"]?.arrayValue ?? [] }

    func find(_ className: String, _ options: [String: JSON]) async throws -> [JSON] {
        try await json("/classes/\(className)", options)["results"]?.arrayValue ?? []
    }

    /// Objects by id, with their fields.
    func objects(_ className: String, _ ids: [String]) async throws -> [String: [String: JSON]] {
        var wanted = ids
        var all: [String: [String: JSON]] = [:]
        while !wanted.isEmpty {
            let condition: JSON = ["objectId": ["$in": .array(wanted.map(JSON.string))]]
            let found = try await find(className, ["where": condition, "limit": .int(Int64(wanted.count))])
            for object in found.compactMap(\.objectValue) {
                if let id = object["objectId"]?.stringValue { all[id] = object }
            }
            // SATCHEL_LIMIT_MAX may be less.
            guard !found.isEmpty else { break }
            wanted.removeAll { all[$0] != nil }
        }
        return all
    }
}

/// The objects of a class in pages, in the order of their ids: writes meanwhile make no page skip or repeat an object.
struct ServedPages: AsyncSequence, AsyncIteratorProtocol {
    /// 200 objects of 128 KB are within the limits of an answer.
    static let rowsMax = 200

    private let suite: any ServedSuite
    private let className: String
    /// Where the next page begins; nil after the last one.
    private var cursor: String? = ""

    init(_ suite: any ServedSuite, _ className: String) { (self.suite, self.className) = (suite, className) }

    func makeAsyncIterator() -> ServedPages { self }

    mutating func next() async throws -> [JSON]? {
        guard let after = cursor else { return nil }
        let answer = try await suite.json(
            "/classes/\(className)",
            ["order": "objectId", "limit": .int(Int64(Self.rowsMax)), "after": .string(after)])
        let objects = answer["results"]?.arrayValue ?? []
        let next = answer["cursor"]?.stringValue
        // A short page need not be the last one: SATCHEL_LIMIT_MAX may be less.
        cursor = objects.isEmpty || next == after ? nil : next
        return objects.isEmpty ? nil : objects
    }
}

/// The rows of a relation, `<owner>:<member>`, in pages.
struct MemberPages: AsyncSequence, AsyncIteratorProtocol {
    static let rowsMax = 50_000

    private let suite: any ServedSuite
    private let relation: String
    private var last: String? = ""

    /// - Parameter relation: `_Join:<field>:<Class>`.
    init(_ suite: any ServedSuite, _ relation: String) { (self.suite, self.relation) = (suite, relation) }

    func makeAsyncIterator() -> MemberPages { self }

    mutating func next() async throws -> [String]? {
        guard let after = last else { return nil }
        let lines = try await suite.answer(
            "/moves/members/\(relation)", ["after": .string(after), "limit": .int(Int64(Self.rowsMax))])
        let ids = lines.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        last = ids.count < Self.rowsMax ? nil : ids.last
        return ids.isEmpty ? nil : ids
    }
}
