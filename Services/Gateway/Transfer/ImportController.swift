import HTTPTypes
import Messages
import ParseProtocol

/// `POST /import/<Class>`: imports objects from a JSON or CSV file in the form of Satchel's or hosted Parse's exports.
/// An object with a known id is updated, any other is created with its id and times. Objects fail independently; the
/// failures are listed.
///
/// Accounts, sessions and roles of another server are for the master key. Rows of `_Join:<field>:<Class>`, as Parse
/// Server stores them, add to the relation of an object that is there.
struct ImportController: Sendable {
    let objects: ObjectsController
    let services: ServiceClient

    /// Changes in one message and one commit; the limit of a batch as well.
    private static let changesAtOnce = 200
    private static let accountClasses: Set<String> = ["_User", "_Session", "_Role"]
    /// A malformed file usually fails in every row.
    private static let failuresListedMax = 100

    func run(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try Transfers.requireOperator(principal)
        let relation = ImportedRelation(className)
        let isForMaster = relation != nil || Self.accountClasses.contains(className)
        guard Names.isIdentifier(className) || isForMaster else {
            throw ParseError(
                .operationForbidden, "Objects of the class \(className.prefix(128)) cannot be imported.")
        }
        guard principal.master || !isForMaster else {
            throw ParseError(.operationForbidden, "unauthorized: master key is required")
        }
        var rows = try await rows(className, request)
        let changedClass = relation?.className ?? className
        let verb: Change.Verb = relation == nil ? .create : .update
        if let relation {
            let schema = try await Transfers.schema(of: relation.className, services, in: request.call)
            let target = try relation.target(in: schema)
            rows = rows.map { relation.addition($0, of: target) }
        }
        var imported = 0
        var failures: [JSON] = []
        for start in stride(from: 0, to: rows.count, by: Self.changesAtOnce) {
            let part = rows[start..<min(start + Self.changesAtOnce, rows.count)]
            let outcomes = try await objects.write(
                part.map { (Self.change(verb, changedClass), $0.serialized) },
                to: ServiceDirectory.service(ofClass: changedClass), atomic: false, principal, request)
            for (index, outcome) in outcomes.enumerated() {
                guard outcome.outcome.hasFailure else {
                    imported += 1
                    continue
                }
                guard failures.count < Self.failuresListedMax else { continue }
                failures.append([
                    "row": .int(Int64(start + index + 1)), "code": .int(Int64(outcome.outcome.failure.code)),
                    "error": .string(outcome.outcome.failure.message),
                ])
            }
        }
        return ParseResponse([
            "imported": .int(Int64(imported)), "failed": .int(Int64(rows.count - imported)),
            "failures": .array(failures),
        ])
    }

    private static func change(_ verb: Change.Verb, _ className: String) -> Change {
        var change = ObjectsController.change(verb, className, nil)
        change.imports = true
        return change
    }

    private func rows(_ className: String, _ request: ParseRequest) async throws(ParseError) -> [JSON] {
        let contentType = request.headers[.contentType]?.prefix { $0 != ";" }.lowercased()
        guard contentType == "text/csv" else {
            let body = try JSON(clientText: request.body)
            guard let rows = body.arrayValue ?? body["results"]?.arrayValue else {
                throw ParseError(.invalidJSON, "A file to import is an array of objects, or {\"results\": […]}.")
            }
            guard rows.count <= CSVTable.rowsMax else {
                throw ParseError(.objectTooLarge, "A file has at most \(CSVTable.rowsMax) rows; split it.")
            }
            return rows
        }
        let table = try CSVTable(parsing: request.body).rows
        guard let header = table.first else { return [] }
        var fields: JSON? = ImportedRelation.columns
        if ImportedRelation(className) == nil {
            fields = try await Transfers.schema(of: className, services, in: request.call)["fields"]
        }
        let columns = header.map { CSVColumn($0, schema: fields?[$0]) }
        var rows: [JSON] = []
        for (index, fields) in table.dropFirst().enumerated() {
            guard fields.count == columns.count else {
                throw ParseError(
                    .invalidJSON, "Row \(index + 2) has \(fields.count) fields, the header has \(columns.count).")
            }
            var object: [String: JSON] = [:]
            for (column, field) in zip(columns, fields) { object[column.name] = try column.value(field) }
            rows.append(.object(object))
        }
        return rows
    }
}

/// The common parts of export and import.
enum Transfers {
    /// Requires the master key, or an operator of the area or an admin without a restricted session; each sees and
    /// changes only what its rights allow.
    /// - Throws: `.operationForbidden` (119) for any other caller.
    static func requireOperator(_ principal: Principal, of area: OperatorArea = .admins) throws(ParseError) {
        guard principal.runs([area]) else {
            throw ParseError(.operationForbidden, "Only members of the role \(adminsRole) may do this.")
        }
    }

    /// The class's schema; empty for a class that does not exist yet. Only names and types are used.
    static func schema(
        of className: String, _ services: ServiceClient, in context: CallContext
    ) async throws(ParseError) -> JSON {
        do {
            let reply = try await services.read(
                ServiceDirectory.calls(ofClass: className).schemas, SchemasRequest.with { $0.className = className },
                for: .with { $0.master = true }, in: context)
            return try JSON(reply: reply.document, in: context)
        } catch  where error.code == .invalidClassName {
            return ["fields": ["objectId": ["type": "String"], "ACL": ["type": "ACL"]]]
        }
    }
}
