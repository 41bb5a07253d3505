import ParseProtocol

/// A field name, perhaps dotted, that passed the allow-list and may therefore become part of SQL.
///
/// The only place where text of a client turns into SQL: every component is an identifier of letters, digits and
/// `_`, so that neither a quote nor any other syntax can be in it. Everything else is bound.
struct FieldPath: Equatable {
    let components: [String]

    /// Components at most; objects nest no deeper than `JSON.depthMax` anyway.
    static let depthMax = 16

    /// - Throws: `ParseError` 105 when a component is not an identifier.
    init(_ name: String) throws {
        components = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard components.count <= FieldPath.depthMax, components.allSatisfy(Names.isIdentifier) else {
            throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))")
        }
    }

    private init(components: [String]) { self.components = components }

    /// The path without its first component; of one component there is no rest.
    var rest: FieldPath { isDotted ? FieldPath(components: Array(components.dropFirst())) : self }

    /// The first component alone.
    var first: FieldPath { FieldPath(components: [root]) }

    var root: String { components[0] }
    var isDotted: Bool { components.count > 1 }

    /// The path as an SQL literal, `'$."brand"."objectId"'`.
    func literal(appending member: String? = nil) -> String {
        var text = "'$"
        for component in components { text += ".\"\(component)\"" }
        if let member { text += ".\"\(member)\"" }
        return text + "'"
    }

    /// The stored value. Indexes are made from this very expression, so that SQLite recognises it in queries.
    func value(appending member: String? = nil, in document: String = "o.doc") -> String {
        "json_extract(\(document),\(literal(appending: member)))"
    }

    /// The JSON type of the stored value, `NULL` when there is none.
    func type(in document: String = "o.doc") -> String { "json_type(\(document),\(literal()))" }
}

extension FieldType {
    /// The member that stands for a wire hash in comparisons, orders and indexes.
    var comparedMember: String? {
        switch self {
        case .pointer: "objectId"
        case .date: "iso"
        case .file: "name"
        case .bytes: "base64"
        default: nil
        }
    }
}
