import ParseProtocol

/// The SQL of an engine, where the engines differ. All other SQL is written once, for both.
///
/// A class's table `o<id>` stores its documents as text in `doc`. SQLite queries that text; PostgreSQL queries `data`,
/// which holds the same document as `jsonb`. A value is the result of SQLite's `json_extract`, and in PostgreSQL a
/// value of the field's type (`Kind`). Both return NULL for a member that is missing or null.
public enum Dialect: Sendable, Hashable {
    case sqlite
    case postgresql

    /// The suffix of an INSERT whose caller needs the row's number (`StoreStatement.insert`).
    var returningId: String { self == .sqlite ? "" : " RETURNING id" }

    /// PostgreSQL's ON CONFLICT clause, before `returningId`. Without it a duplicate row would abort the transaction.
    /// `StoreStatement.insert` fails on both engines.
    var orNothing: String { self == .sqlite ? "" : " ON CONFLICT DO NOTHING" }

    /// The statement that returns a query's plan.
    func explaining(_ sql: String) -> String { (self == .sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + sql }

    /// The condition that two values differ, where NULL equals only NULL.
    func differ(_ value: String, _ other: String) -> String {
        self == .sqlite ? "\(value) IS NOT \(other)" : "\(value) IS DISTINCT FROM \(other)"
    }

    /// The approximate size in bytes of a column or value in an index.
    func length(_ value: String) -> String {
        self == .sqlite ? "length(\(value))" : "octet_length((\(value))::text)"
    }

    // MARK: Documents

    /// The columns that store a document, and the expressions that set them from a document bound as text.
    var documentColumns: String { self == .sqlite ? "doc" : "doc, data" }
    func document(_ parameter: String) -> String {
        self == .sqlite ? parameter : "\(parameter)::text, \(parameter)::text::jsonb"
    }
    func setting(document parameter: String) -> String {
        self == .sqlite ? "doc = \(parameter)" : "doc = (\(parameter))::text, data = (\(parameter))::text::jsonb"
    }

    // MARK: Values of documents

    /// The type as which PostgreSQL compares, sorts and indexes a value. Values of one type are taken out of `jsonb`,
    /// which not every engine of the family can index.
    enum Kind: Sendable, Hashable {
        case text, number, flag
        /// Any value, as `jsonb`.
        case json

        /// The operand type that such a value is compared with.
        var operand: Operand {
            switch self {
            case .text: .text
            case .number: .number
            case .flag: .flag
            case .json: .json
            }
        }
    }

    /// The value at a path. A number in the path is an array index in rows where the value is an array, and a member
    /// name in all others.
    /// - Parameters:
    ///   - path: names that passed `FieldPath`.
    ///   - member: the member that is compared instead of the whole value (`iso` of a date); nil for none.
    ///   - kind: the type of every such value that is not missing.
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

    /// The value of a field of this type, or the member that represents it.
    func value(_ path: FieldPath, of type: FieldType?, in document: String) -> String {
        value(path, appending: type?.comparedMember, as: type?.comparedKind ?? .json, in: document)
    }

    /// The JSON type of the value at a path; `NULL` when it is missing.
    func type(_ path: FieldPath, in document: String) -> String {
        self == .sqlite
            ? "json_type(\(document),\(path.expression(in: document)))" : "jsonb_typeof(\(part(path, in: document)))"
    }

    /// PostgreSQL's value at a path, which may be JSON null, or its text, which is then NULL.
    private func part(
        _ path: FieldPath, appending member: String? = nil, in document: String, asText: Bool = false
    ) -> String {
        "(\(Self.binary(document))#>\(asText ? ">" : "")\(path.array(appending: member)))"
    }

    private static func binary(_ document: String) -> String {
        document == "doc" || document.hasSuffix(".doc") ? document.dropLast(3) + "data" : document
    }

    /// The elements of the array at a path as rows with a column `value`, for use in `FROM`. For a value that is not an
    /// array PostgreSQL returns no rows; SQLite returns rows that the callers ignore.
    func elements(of path: FieldPath, in document: String, as name: String) -> String {
        if self == .sqlite { return "json_each(\(document),\(path.expression(in: document))) \(name)" }
        let value = part(path, in: document)
        return "jsonb_array_elements(CASE WHEN jsonb_typeof(\(value))='array' THEN \(value) END) \(name)(value)"
    }

    /// The JSON type of such a row's value.
    func elementType(_ name: String) -> String { self == .sqlite ? "\(name).type" : "jsonb_typeof(\(name).value)" }

    /// The latitude and longitude at a path; NULL when there is no point.
    func place(_ path: FieldPath, in document: String) -> SQLPlace {
        func coordinate(_ name: String) -> String {
            if self == .sqlite { return value(path, appending: name, as: .number, in: document) }
            return part(path, appending: name, in: document, asText: true) + "::float8"
        }
        return SQLPlace(latitude: coordinate("latitude"), longitude: coordinate("longitude"))
    }

    /// The text of a member of an object value.
    func text(_ member: String, of value: String) -> String {
        self == .sqlite ? "json_extract(\(value),'$.\(member)')" : "(\(value)->>'\(member)')"
    }

    /// The text of the document `doc` without a field.
    func removing(_ field: FieldPath) -> String {
        self == .sqlite
            ? "json_remove(doc, \(field.expression(in: "doc")))" : "'{'||\(members(without: field.root))||'}'"
    }

    /// PostgreSQL's text of all members of `doc` except one, each as it is stored: `jsonb` would change spaces and the
    /// form of numbers. A document always has members.
    private func members(without field: String) -> String {
        """
        (SELECT string_agg(to_json(key)::text||':'||value::text,',' ORDER BY place) \
        FROM json_each(doc::json) WITH ORDINALITY member(key,value,place) WHERE key<>'\(field)')
        """
    }

    // MARK: Types

    enum JSONKind: Sendable { case text, number, boolean, structure }

    /// The condition that a JSON type is of this kind.
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

    /// The text of a value of `Kind.json` that is a string.
    func text(of value: String) -> String { self == .sqlite ? value : "(\(value)#>>'{}')" }

    /// The condition that a text matches a bound pattern (`StoreStatement.bind(_: Regex, at:)`).
    func matches(_ pattern: String, _ text: String) -> String {
        switch self {
        case .sqlite: "satchel_regex(\(pattern),\(text))"
        case .postgresql: "(\(text) COLLATE \"und-x-icu\")~\(pattern)::text"
        }
    }

    // MARK: Parameters

    /// The type as which a parameter is compared.
    public enum Operand: Sendable {
        /// A text, an integer column, any number of a document, or a flag (1 or 0) of a document.
        case text, integer, number, flag
        /// A number for a function; PostgreSQL literals of an array of texts and of a search for terms.
        case real, texts, terms
        /// A value of a document: a text, a number, a Boolean as 1 or 0, or any JSON value as its text.
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
        case .terms: "\(name)::tsquery"
        case .jsonText: "to_jsonb(\(name)::text)"
        case .jsonInteger: "to_jsonb(\(name)::bigint)"
        case .jsonReal: "to_jsonb(\(name)::float8)"
        case .jsonFlag: "to_jsonb(\(name)::bigint<>0)"
        case .json: "\(name)::jsonb"
        }
    }

    /// The suffix of a value that must be in a list. The list is one parameter: the JSON text of an array.
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

    /// A sort term. Missing values come first, in descending order last.
    /// - Parameter isNeverMissing: every row has the value.
    func sorted(by value: String, isDescending: Bool, isNeverMissing: Bool) -> String {
        let sign = isDescending ? " DESC" : ""
        if self == .sqlite || isNeverMissing { return value + sign }
        return value + sign + (isDescending ? " NULLS LAST" : " NULLS FIRST")
    }

    /// A value that no row has.
    var missing: String { self == .sqlite ? "NULL" : "NULL::jsonb" }

    /// The sort value of a field whose type differs from row to row, in SQLite's order of types: Booleans are 1 and 0,
    /// numbers come before texts, lists and objects sort as their JSON text.
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

    /// The sort value of a list or object: its JSON text.
    func order(ofStructure path: FieldPath, in document: String) -> String {
        self == .sqlite ? value(path, as: .json, in: document) : text(at: path, in: document)
    }

    /// PostgreSQL's text of the value at a path as it is stored; `jsonb` would reformat it.
    private func text(at path: FieldPath, in document: String) -> String {
        "(\(document)::json#>>\(path.array()))"
    }
}

/// A geographic point as SQL: two numbers, or NULL for both.
struct SQLPlace {
    let latitude, longitude: String

    var arguments: String { "\(latitude),\(longitude)" }
    /// As a PostgreSQL `point`.
    var point: String { "point(\(longitude),\(latitude))" }
}
