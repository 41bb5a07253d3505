import ParseProtocol

/// The SQL of an engine, where the two differ. Everything else is written once, for both.
///
/// A class's table `o<id>` has its documents as text in `doc`. SQLite looks into that text; PostgreSQL into `data`,
/// which has the same as `jsonb`. A value is what SQLite's `json_extract` gives, and in PostgreSQL one of the type that
/// its field has (`Kind`): both know nothing of a member that is missing or null.
public enum Dialect: Sendable, Hashable {
    case sqlite
    case postgresql
    /// PostgreSQL's with what CockroachDB and YugabyteDB have of it, and nothing else
    /// (docs/postgresql-engines.md).
    case plain

    /// What an INSERT ends with whose row's number is wanted (`StoreStatement.insert`).
    var returningId: String { self == .sqlite ? "" : " RETURNING id" }

    /// What stands before it in an INSERT whose row may be there: PostgreSQL gives the whole transaction up for one
    /// that it refuses. `StoreStatement.insert` fails for both.
    var orNothing: String { self == .sqlite ? "" : " ON CONFLICT DO NOTHING" }

    /// What tells the plan of a query.
    func explaining(_ sql: String) -> String { (self == .sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + sql }

    /// The condition that two values differ, also where one of them is missing.
    func differ(_ value: String, _ other: String) -> String {
        self == .sqlite ? "\(value) IS NOT \(other)" : "\(value) IS DISTINCT FROM \(other)"
    }

    /// About the bytes that a column or value takes in an index.
    func length(_ value: String) -> String {
        self == .sqlite ? "length(\(value))" : "octet_length((\(value))::text)"
    }

    // MARK: Documents

    /// The columns that have a document, and how they are set to one that is bound as text.
    var documentColumns: String { self == .sqlite ? "doc" : "doc, data" }
    func document(_ parameter: String) -> String {
        self == .sqlite ? parameter : "\(parameter)::text, \(parameter)::text::jsonb"
    }
    func setting(document parameter: String) -> String {
        self == .sqlite ? "doc = \(parameter)" : "doc = (\(parameter))::text, data = (\(parameter))::text::jsonb"
    }

    // MARK: Values of documents

    /// The type in which PostgreSQL compares, sorts and indexes a value: indexes of `jsonb` are not everywhere.
    enum Kind: Sendable, Hashable {
        case text, number, flag
        /// Any value, as `jsonb`.
        case json

        /// What such a value is compared with.
        var operand: Operand {
            switch self {
            case .text: .text
            case .number: .number
            case .flag: .flag
            case .json: .json
            }
        }
    }

    /// The value at a path; of an index the document decides, row by row, whether it is a step into an array.
    /// - Parameters:
    ///   - path: names that passed `FieldPath`.
    ///   - member: a member of the value, for one that stands for all of it.
    ///   - kind: what every such value is that is not missing.
    ///   - document: SQL of a document: a column `doc`, or a value.
    func value(_ path: FieldPath, appending member: String? = nil, as kind: Kind, in document: String) -> String {
        if self == .sqlite { return "json_extract(\(document),\(path.expression(appending: member, in: document)))" }
        let part = part(path, appending: member, in: document, asText: kind != .json)
        return switch kind {
        case .json: "NULLIF(\(part),'null')"
        case .text: part
        case .number: part + "::numeric"
        case .flag: part + "::boolean"
        }
    }

    /// The value of a field of this type, or the member that stands for it.
    func value(_ path: FieldPath, of type: FieldType?, in document: String) -> String {
        value(path, appending: type?.comparedMember, as: type?.comparedKind ?? .json, in: document)
    }

    /// The JSON type of the value at a path, `NULL` when there is none.
    func type(_ path: FieldPath, in document: String) -> String {
        self == .sqlite
            ? "json_type(\(document),\(path.expression(in: document)))" : "jsonb_typeof(\(part(path, in: document)))"
    }

    /// PostgreSQL's value at a path, which may be JSON's null, or its text, which is missing then.
    private func part(
        _ path: FieldPath, appending member: String? = nil, in document: String, asText: Bool = false
    ) -> String {
        let names = path.components + (member.map { [$0] } ?? [])
        return "(\(Self.binary(document))#>\(asText ? ">" : "")'{\(names.joined(separator: ","))}')"
    }

    private static func binary(_ document: String) -> String {
        document == "doc" || document.hasSuffix(".doc") ? document.dropLast(3) + "data" : document
    }

    /// The elements of the array at a path as rows with a column `value`, to stand in `FROM`. Of what is no array there
    /// are none in PostgreSQL, and in SQLite some that nobody asks for.
    func elements(of path: FieldPath, in document: String, as name: String) -> String {
        if self == .sqlite { return "json_each(\(document),\(path.expression(in: document))) \(name)" }
        let value = part(path, in: document)
        return "jsonb_array_elements(CASE WHEN jsonb_typeof(\(value))='array' THEN \(value) END) \(name)(value)"
    }

    /// The JSON type of such a row's value.
    func elementType(_ name: String) -> String { self == .sqlite ? "\(name).type" : "jsonb_typeof(\(name).value)" }

    /// The latitude and the longitude at a path, NULL where there is no place.
    func place(_ path: FieldPath, in document: String) -> SQLPlace {
        func coordinate(_ name: String) -> String {
            if self == .sqlite { return value(path, appending: name, as: .number, in: document) }
            return part(path, appending: name, in: document, asText: true) + "::float8"
        }
        return SQLPlace(latitude: coordinate("latitude"), longitude: coordinate("longitude"))
    }

    /// A member's text of a value that is an object.
    func text(_ member: String, of value: String) -> String {
        self == .sqlite ? "json_extract(\(value),'$.\(member)')" : "(\(value)->>'\(member)')"
    }

    /// The text of the document `doc` without a field.
    func removing(_ field: FieldPath) -> String {
        self == .sqlite
            ? "json_remove(doc, \(field.expression(in: "doc")))" : "'{'||\(members(without: field.root))||'}'"
    }

    /// The text of the document `doc` with another value of a field, which is bound as JSON's text.
    func setting(_ field: FieldPath, to parameter: String) -> String {
        self == .sqlite
            ? "json_set(doc, \(field.expression(in: "doc")), json(\(parameter)))"
            : "'{'||\(members(without: field.root))||',\"\(field.root)\":'||\(parameter)::text||'}'"
    }

    /// PostgreSQL's text of all members of `doc` but one, each as it is stored: `jsonb` would write them with spaces,
    /// and numbers in its own way. A document has members in any case.
    private func members(without field: String) -> String {
        """
        (SELECT string_agg(to_json(key)::text||':'||value::text,',' ORDER BY place) \
        FROM json_each(doc::json) WITH ORDINALITY member(key,value,place) WHERE key<>'\(field)')
        """
    }

    // MARK: Types

    enum JSONKind: Sendable { case text, number, boolean, structure }

    /// The condition that a JSON type is of a kind.
    func isType(_ type: String, _ kind: JSONKind) -> String {
        switch (self, kind) {
        case (.sqlite, .text): "\(type)='text'"
        case (.sqlite, .number): "\(type) IN ('integer','real')"
        case (.sqlite, .boolean): "\(type) IN ('true','false')"
        case (_, .text): "\(type)='string'"
        case (_, .number): "\(type)='number'"
        case (_, .boolean): "\(type)='boolean'"
        case (_, .structure): "\(type) IN ('array','object')"
        }
    }

    /// The text of a value that is one (`Kind.json`).
    func text(of value: String) -> String { self == .sqlite ? value : "(\(value)#>>'{}')" }

    /// The condition that a text matches a pattern that is bound (`StoreStatement.bind(_: Regex, at:)`).
    func matches(_ pattern: String, _ text: String) -> String {
        switch self {
        case .sqlite: "satchel_regex(\(pattern),\(text))"
        case .postgresql: "(\(text) COLLATE \"und-x-icu\")~\(pattern)::text"
        case .plain: "\(text)~\(pattern)::text"
        }
    }

    // MARK: Parameters

    /// The type that a parameter is compared as.
    public enum Operand: Sendable {
        /// A text, a whole number of a column, any number or a flag (1 or 0) of a document.
        case text, integer, number, flag
        /// A number for a function, and PostgreSQL's literals of arrays of texts and of small numbers.
        case real, texts, integers
        /// A value of a document: a text, a number, true or false by 1 or 0, or all that JSON can say by its text.
        case jsonText, jsonInteger, jsonReal, jsonFlag, json
    }

    func parameter(_ name: String, as operand: Operand) -> String {
        if self == .sqlite { return operand == .jsonReal || operand == .real ? "CAST(\(name) AS REAL)" : name }
        return switch operand {
        case .text: "\(name)::text"
        case .integer: "\(name)::bigint"
        case .number: "\(name)::numeric"
        case .flag: "(\(name)::bigint<>0)"
        case .real: "\(name)::float8"
        case .texts: "\(name)::text[]"
        case .integers: "\(name)::int[]"
        case .jsonText: "to_jsonb(\(name)::text)"
        case .jsonInteger: "to_jsonb(\(name)::bigint)"
        case .jsonReal: "to_jsonb(\(name)::float8)"
        case .jsonFlag: "to_jsonb(\(name)::bigint<>0)"
        case .json: "\(name)::jsonb"
        }
    }

    /// What follows a value that is to be one of a list, which is one parameter: JSON's text of an array.
    public func isIn(_ name: String, as operand: Operand) -> String {
        if self == .sqlite { return " IN (SELECT value FROM json_each(\(name)))" }
        let type: String
        switch operand {
        case .text: type = ""
        case .integer: type = "::bigint"
        case .number: type = "::numeric"
        case .flag: type = "::boolean"
        default: return " IN (SELECT jsonb_array_elements(\(name)::jsonb))"
        }
        return "=ANY(ARRAY(SELECT jsonb_array_elements_text(\(name)::jsonb)\(type)))"
    }

    // MARK: Order

    /// A term of an order: missing values come first, in a descending order last.
    /// - Parameter isNeverMissing: every row has the value.
    func sorted(by value: String, isDescending: Bool, isNeverMissing: Bool) -> String {
        let sign = isDescending ? " DESC" : ""
        if self == .sqlite || isNeverMissing { return value + sign }
        return value + sign + (isDescending ? " NULLS LAST" : " NULLS FIRST")
    }

    /// A value that no row has.
    var missing: String { self == .sqlite ? "NULL" : "NULL::jsonb" }

    /// A value whose type differs from row to row, in SQLite's order of types: true and false are 1 and 0, numbers come
    /// before texts; lists and objects are their JSON's text.
    func order(ofMixed path: FieldPath, in document: String) -> String {
        let value = value(path, as: .json, in: document)
        if self == .sqlite { return value }
        return """
            CASE jsonb_typeof(\(value)) WHEN 'boolean' THEN jsonb_build_array(1,(\(value)='true')::int) \
            WHEN 'number' THEN jsonb_build_array(1,\(value)) \
            WHEN 'string' THEN jsonb_build_array(2,\(value)) \
            ELSE CASE WHEN \(value) IS NOT NULL THEN jsonb_build_array(2,\(text(at: path, in: document))) END END
            """
    }

    /// A list's or an object's place in an order, which is that of its JSON's text.
    func order(ofStructure path: FieldPath, in document: String) -> String {
        self == .sqlite ? value(path, as: .json, in: document) : text(at: path, in: document)
    }

    /// PostgreSQL's text of the value at a path, as it is stored: `jsonb` writes it in its own way.
    private func text(at path: FieldPath, in document: String) -> String {
        if self == .plain { return part(path, in: document, asText: true) }
        return "(\(document)::json#>>'{\(path.components.joined(separator: ","))}')"
    }
}

/// A place as SQL: two numbers, or NULL for both.
struct SQLPlace {
    let latitude, longitude: String

    /// As arguments of functions.
    var arguments: String { "\(latitude),\(longitude)" }
    /// As a point of PostgreSQL's map.
    var point: String { "point(\(longitude),\(latitude))" }
}
