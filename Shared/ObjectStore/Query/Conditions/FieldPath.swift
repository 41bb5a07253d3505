import ParseProtocol

/// A field name, perhaps dotted, that passed the allow-list and may therefore become part of SQL.
///
/// The only place where text of a client turns into SQL: every component consists of letters, digits and `_`, so that
/// neither a quote nor any other syntax can be in it. Everything else is bound.
///
/// The first component is the name of a field. One after it that is a number is the index of an element where the value
/// before it is an array, and else the name of a member, as in MongoDB.
struct FieldPath: Equatable {
    let components: [String]

    /// Components at most; objects nest no deeper than `JSON.depthMax` anyway.
    static let depthMax = 16
    /// Indexes in the name of a query: each doubles the SQL of what is before it.
    static let indexesMax = 2

    /// - Throws: `.invalidKeyName` (105) when the first component is not an identifier, or another is no name of a
    ///   member.
    init(_ name: String) throws {
        // Most names have no dot, and splitting looks for it character by character.
        components =
            name.utf8.contains(UInt8(ascii: "."))
            ? name.split(separator: ".", omittingEmptySubsequences: false).map(String.init) : [name]
        guard components.count <= FieldPath.depthMax, Names.isIdentifier(components[0]),
            components.dropFirst().allSatisfy(FieldPath.isMemberName)
        else {
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
    /// The path leads into the element of an array, when the field is one.
    var beginsWithIndex: Bool { isDotted && FieldPath.isIndex(components[1]) }
    var indexCount: Int { components.dropFirst().count(where: FieldPath.isIndex) }

    /// `^[A-Za-z0-9_]+$`, at most 128 characters, and none of the names that are never stored.
    private static func isMemberName(_ name: String) -> Bool {
        let bytes = name.utf8
        return (1...128).contains(bytes.count) && bytes.allSatisfy(isNameByte) && !name.hasPrefix("__")
            && name != "_bsontype"
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: isDigit(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The index that a component may be; nil for any other name.
    static func index(_ name: String) -> Int? { isIndex(name) ? Int(name) : nil }

    /// A number without zeros before it. No array has as many elements as a number of more digits says, which SQLite
    /// would take modulo 2^32.
    private static func isIndex(_ name: String) -> Bool {
        let bytes = name.utf8
        return bytes.count <= 9 && bytes.allSatisfy(isDigit) && (bytes.count == 1 || bytes.first != UInt8(ascii: "0"))
    }

    /// The path as SQLite has it: a literal, `'$."brand"."objectId"'`. For an index the document decides, row by row,
    /// whether it is a step into an array or into an object:
    /// `'$."items"'||CASE json_type(…) WHEN 'array' THEN '[0]' ELSE '."0"' END||''`.
    func expression(appending member: String? = nil, in document: String) -> String {
        var text = "'$"
        for (position, component) in components.enumerated() {
            if position > 0, FieldPath.isIndex(component) {
                let parent = text + "'"
                text = """
                    \(parent)||CASE json_type(\(document),\(parent)) WHEN 'array' THEN '[\(component)]' \
                    ELSE '."\(component)"' END||'
                    """
            } else {
                text += ".\"\(component)\""
            }
        }
        if let member { text += ".\"\(member)\"" }
        return text + "'"
    }
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

    /// The type in which PostgreSQL compares it, or the member that stands for it.
    var comparedKind: Dialect.Kind {
        switch self {
        case .string, .pointer, .date, .file, .bytes: .text
        case .number: .number
        case .boolean: .flag
        case .array, .object, .geoPoint, .polygon, .relation: .json
        }
    }

    /// Whether its values are lists or objects of which all counts.
    var isStructure: Bool {
        switch self {
        case .array, .object, .geoPoint, .polygon: true
        default: false
        }
    }
}
