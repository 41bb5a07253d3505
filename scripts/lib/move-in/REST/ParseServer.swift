import Outbound
import ParseProtocol

/// Opens another server of the Parse protocol, for hosts that give no database.
enum ParseServer {
    /// - Throws: `MoveInError` when it does not answer, or refuses the keys.
    static func open(url: String, applicationId: String, masterKey: String) async throws -> any OldServer {
        try await RESTServer.open(
            RESTClient(
                url: url, applicationId: applicationId, masterKey: masterKey, http: PatientHTTP(OutboundClient())))
    }
}

/// An old server that is read over REST with its master key.
struct RESTServer: OldServer {
    var name: String { client.name }
    private let client: RESTClient
    private let pages: RESTPages
    /// By name, as the server's schema route has them.
    private let schemas: [String: JSON]

    private static let passwordNote = """
        The old server shows no passwords over REST. Users keep their sessions and their links to other providers; to \
        sign in with a password, they have to reset it first.
        """
    private static let config = "_GlobalConfig", hooks = "_Hooks"
    private static let answerBytesMax = 32 << 20
    /// Rows that a sink takes at once.
    private static let packRows = 250
    /// Owners whose relations are read at the same time.
    private static let ownersAtOnce = 8

    static func open(_ client: RESTClient) async throws -> RESTServer {
        let answer = try await Self.answer(client, "/schemas")
        guard let list = answer["results"]?.arrayValue else {
            throw MoveInError("\(client.name): the answer of /schemas has no results.")
        }
        var schemas: [String: JSON] = [:]
        for schema in list {
            guard let name = schema["className"]?.stringValue, schema["fields"]?.objectValue != nil else {
                throw MoveInError("\(client.name): /schemas has a class without a name or fields.")
            }
            schemas[name] = schema
        }
        return RESTServer(client: client, pages: RESTPages(client), schemas: schemas)
    }

    // MARK: - Classes

    func classes() async throws -> [MovedClass] {
        var classes: [MovedClass] = []
        for (name, schema) in schemas {
            let fields = schema["fields"]?.objectValue ?? [:]
            classes.append(
                MovedClass(
                    name: name, fields: fields,
                    classLevelPermissions: schema["classLevelPermissions"].flatMap { $0.isNull ? nil : $0 },
                    indexes: schema["indexes"]?.objectValue ?? [:]))
            classes += fields.filter { $0.value["type"] == "Relation" }.map {
                MovedClass(name: "_Join:\($0.key):\(name)")
            }
        }
        for name in MovedClass.unlisted.sorted() where schemas[name] == nil {
            if try await hasRows(name) { classes.append(MovedClass(name: name)) }
        }
        if try await configRow() != nil { classes.append(MovedClass(name: Self.config)) }
        if try await !hookRows().isEmpty { classes.append(MovedClass(name: Self.hooks)) }
        return classes
    }

    /// False also for a class that the server lacks: another Parse-protocol server need not have it.
    private func hasRows(_ className: String) async throws -> Bool {
        let query: [String: JSON] = ["limit": 1, "keys": "objectId"]
        let answer = try await Self.answer(client, "/classes/\(className)", query, ifAbsent: [:])
        return answer["results"]?.arrayValue?.isEmpty == false
    }

    // MARK: - Rows

    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        switch className {
        case Self.config: if let row = try await configRow() { try await sink.take([row]) }
        case Self.hooks: try await sink.take(try await hookRows())
        default:
            let parts = className.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            if parts.count == 3, parts[0] == "_Join" {
                try await readRelation(className, field: parts[1], of: parts[2], into: sink)
            } else {
                try await readClass(className, since: since, into: sink)
            }
        }
    }

    private func readClass(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        let condition: [String: JSON] =
            since.map { ["updatedAt": ["$gte": Timestamp(milliseconds: $0).wire]] } ?? [:]
        let place = place(className)
        if className == "_User" { try await sink.note(Self.passwordNote, on: className) }
        try await pages.forEach(of: className, where: condition) { page in
            if let id = page.oversized {
                try await sink.refuse(
                    RefusedRow(
                        className: className, objectId: id, place: place, reason: "It is too large or too deep to read."
                    ))
            }
            var pack: [MovedRow] = []
            for object in page.rows {
                switch RESTRow.row(object, of: className, at: place) {
                case .success(let row): pack.append(row)
                case .failure(let problem):
                    try await sink.refuse(
                        RefusedRow(
                            className: className, objectId: object["objectId"]?.stringValue, place: place,
                            reason: problem.reason))
                }
                if pack.count == Self.packRows {
                    try await sink.take(pack)
                    pack = []
                }
            }
            if !pack.isEmpty { try await sink.take(pack) }
        }
    }

    /// Asks for the related ids of each owner: REST shows no rows of relations.
    private func readRelation(
        _ name: String, field: String, of className: String, into sink: any RowSink
    ) async throws {
        guard let target = schemas[className]?["fields"]?[field]?["targetClass"]?.stringValue else {
            throw MoveInError("\(client.name): there is no relation \(field) in \(className).")
        }
        try await pages.forEach(of: className, keys: "objectId") { page in
            let owners = page.rows.compactMap { $0["objectId"]?.stringValue } + [page.oversized].compactMap(\.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                var running = 0
                for owner in owners {
                    if running == Self.ownersAtOnce {
                        _ = try await group.next()
                        running -= 1
                    }
                    running += 1
                    group.addTask {
                        try await readRelated(
                            name, .pointer(className, owner), field: field, target: target, into: sink)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private func readRelated(
        _ name: String, _ owner: JSON, field: String, target: String, into sink: any RowSink
    ) async throws {
        let owningId = owner["objectId"]?.stringValue ?? ""
        let condition: [String: JSON] = ["$relatedTo": ["object": owner, "key": .string(field)]]
        let place = place(name)
        try await pages.forEach(of: target, where: condition, keys: "objectId") { page in
            let ids = page.rows.compactMap { $0["objectId"]?.stringValue } + [page.oversized].compactMap(\.self)
            for start in stride(from: 0, to: ids.count, by: Self.packRows) {
                let pack = ids[start..<min(start + Self.packRows, ids.count)].map { id in
                    MovedRow(
                        className: name, objectId: "\(owningId):\(id)", updatedAt: nil,
                        fields: ["owningId": .string(owningId), "relatedId": .string(id)], place: place)
                }
                try await sink.take(pack)
            }
        }
    }

    private func place(_ className: String) -> SourcePlace {
        SourcePlace(file: "\(client.name)/classes/\(className)", offset: nil)
    }

    // MARK: - Settings

    private func configRow() async throws -> MovedRow? {
        let answer = try await Self.answer(client, "/config")
        guard let parameters = answer["params"]?.objectValue, !parameters.isEmpty else { return nil }
        let fields: [String: JSON] = [
            "objectId": "1", "params": .object(parameters), "masterKeyOnly": answer["masterKeyOnly"] ?? [:],
        ]
        return MovedRow(
            className: Self.config, objectId: "1", updatedAt: nil, fields: fields,
            place: SourcePlace(file: "\(client.name)/config", offset: nil))
    }

    /// The webhooks. Functions and triggers of cloud code have no URL.
    private func hookRows() async throws -> [MovedRow] {
        var rows: [MovedRow] = []
        let lists = [("/hooks/functions", ["functionName"]), ("/hooks/triggers", ["className", "triggerName"])]
        for (path, names) in lists {
            let answer = try await Self.answer(client, path, ifAbsent: [])
            for hook in answer.arrayValue ?? [] where hook["url"]?.stringValue != nil {
                let texts = names.compactMap { hook[$0]?.stringValue }
                guard texts.count == names.count, let fields = hook.objectValue else { continue }
                rows.append(
                    MovedRow(
                        className: Self.hooks, objectId: texts.joined(separator: ":"), updatedAt: nil, fields: fields,
                        place: SourcePlace(file: "\(client.name)\(path)", offset: nil)))
            }
        }
        return rows
    }

    /// - Parameter ifAbsent: stands for a class or route that the server lacks; nil when the move needs it.
    private static func answer(
        _ client: RESTClient, _ path: String, _ query: [String: JSON] = [:], ifAbsent: JSON? = nil
    ) async throws -> JSON {
        do {
            return try await client.get(path, query, bytesMax: answerBytesMax)
        } catch let refusal as RESTRefusal {
            guard refusal.isAbsence, let ifAbsent else { throw refusal.ending }
            return ifAbsent
        } catch is AnswerTooLarge {
            throw MoveInError("\(client.name)\(path): the answer is too large to read.")
        }
    }
}

extension RESTServer: QueriedServer {
    func answer(_ className: String, _ query: SampledQuery) async throws -> QueryAnswer? {
        do {
            return QueryAnswer(
                try await client.get("/classes/\(className)", query.options, bytesMax: Self.answerBytesMax))
        } catch is RESTRefusal {
            return nil
        }
    }
}
