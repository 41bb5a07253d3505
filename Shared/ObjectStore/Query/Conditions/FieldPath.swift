import ParseProtocol

/// A field name, perhaps dotted, that passed the allow-list and may therefore be part of SQL.
///
/// This is the only place where client text becomes SQL. Each such component consists of ASCII letters, digits and `_`,
/// so it cannot contain a quote or other syntax. All other text is bound, including member names with other characters
/// (`counts.2026-01-01`).
///
/// The first component is a field name. A later component that is a number is an element index where the value before
/// it is an array, else a member name, as in MongoDB.
struct FieldPath: Equatable {
    let components: [String]
    /// For each component the SQL parameter that it is bound to; nil for a component that is part of the SQL. Empty
    /// when no component is bound.
    private let parameters: [String?]

    /// Limit of components; objects nest at most `JSON.depthMax` levels anyway.
    static let depthMax = 16
    /// Limit of element indexes in a query's field name: each doubles the SQL before it.
    static let indexesMax = 2

    /// A path whose components all may be part of SQL.
    /// - Throws: `.invalidKeyName` (105) when the first component is not an identifier, or another contains characters
    ///   other than ASCII letters, digits and `_`.
    init(_ name: String) throws {
        components = try FieldPath.components(of: name, allowing: FieldPath.isPlainName)
        parameters = []
    }

    /// A path whose member names may also contain `-`, spaces and letters beyond ASCII.
    /// - Parameter bind: binds such a name as a text and returns the SQL of its parameter.
    /// - Throws: `.invalidKeyName` (105).
    init(_ name: String, binding bind: (String) -> String) throws {
        components = try FieldPath.components(of: name, allowing: FieldPath.isMemberName)
        let members = components.dropFirst()
        guard !members.allSatisfy(FieldPath.isPlainName) else {
            parameters = []
            return
        }
        parameters = [nil] + members.map { (name: String) -> String? in FieldPath.isPlainName(name) ? nil : bind(name) }
    }

    /// The same path for documents in memory; it must not be used in SQL, where its bound names are NULL.
    /// - Throws: `.invalidKeyName` (105).
    init(inMemory name: String) throws { try self.init(name) { _ in "NULL" } }

    private static func components(of name: String, allowing isMember: (String) -> Bool) throws -> [String] {
        // Most names have no dot, and `split` checks each character.
        let components =
            name.utf8.contains(UInt8(ascii: "."))
            ? name.split(separator: ".", omittingEmptySubsequences: false).map(String.init) : [name]
        guard components.count <= FieldPath.depthMax, Names.isIdentifier(components[0]),
            components.dropFirst().allSatisfy(isMember)
        else {
            throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))")
        }
        return components
    }

    private init(components: [String], parameters: [String?]) {
        self.components = components
        self.parameters = parameters
    }

    /// The path without its first component. A path of one component returns itself.
    var rest: FieldPath {
        guard isDotted else { return self }
        return FieldPath(components: Array(components.dropFirst()), parameters: Array(parameters.dropFirst()))
    }

    /// The first component alone.
    var first: FieldPath { FieldPath(components: [root], parameters: []) }

    /// Whether any component is bound.
    var isBound: Bool { parameters.contains { $0 != nil } }

    var root: String { components[0] }
    var isDotted: Bool { components.count > 1 }
    /// The path leads into an array element if the field is an array.
    var beginsWithIndex: Bool { isDotted && FieldPath.isIndex(components[1]) }
    var indexCount: Int { components.dropFirst().count(where: FieldPath.isIndex) }

    /// `^[A-Za-z0-9_]+$`, at most 128 bytes, except names that are never stored.
    private static func isPlainName(_ name: String) -> Bool {
        isStorable(name) && name.utf8.allSatisfy(isNameByte)
    }

    /// The same, plus `-`, spaces, and letters and digits of every script.
    private static func isMemberName(_ name: String) -> Bool {
        isStorable(name) && name.unicodeScalars.allSatisfy(isNameScalar)
    }

    private static func isStorable(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count) && !name.utf8.starts(with: "__".utf8) && name != "_bsontype"
    }

    private static func isNameScalar(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return isNameByte(UInt8(scalar.value)) || scalar == "-" || scalar == " " }
        return switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .decimalNumber:
            true
        default: false
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: isDigit(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The component as an element index; nil for any other name.
    static func index(_ name: String) -> Int? { isIndex(name) ? Int(name) : nil }

    /// A number without leading zeros. It has at most 9 digits: no array has more elements, and SQLite takes larger
    /// numbers modulo 2^32.
    private static func isIndex(_ name: String) -> Bool {
        let bytes = name.utf8
        return bytes.count <= 9 && bytes.allSatisfy(isDigit) && (bytes.count == 1 || bytes.first != UInt8(ascii: "0"))
    }

    /// The path in SQLite's form: a literal, `'$."brand"."objectId"'`. For an index the document decides row by row
    /// whether it is a step into an array or into an object: `'$."items"'||CASE json_type(…) WHEN 'array' THEN '[0]'
    /// ELSE '."0"' END||''`.
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
                text += ".\"\(parameter(position).map { "'||\($0)||'" } ?? component)\""
            }
        }
        if let member { text += ".\"\(member)\"" }
        return text + "'"
    }

    /// The path in PostgreSQL's form: an array of texts.
    func array(appending member: String? = nil) -> String {
        guard isBound else { return "'{\((components + (member.map { [$0] } ?? [])).joined(separator: ","))}'" }
        let names = components.enumerated().map { parameter($0) ?? "'\($1)'" } + (member.map { ["'\($0)'"] } ?? [])
        return "ARRAY[\(names.joined(separator: ","))]"
    }

    private func parameter(_ position: Int) -> String? {
        parameters.indices.contains(position) ? parameters[position] : nil
    }
}

extension FieldType {
    /// The member that represents a typed value in comparisons, orders and indexes.
    var comparedMember: String? {
        switch self {
        case .pointer: "objectId"
        case .date: "iso"
        case .file: "name"
        case .bytes: "base64"
        default: nil
        }
    }

    /// The type as which PostgreSQL compares the value, or the member that represents it.
    var comparedKind: Dialect.Kind {
        switch self {
        case .string, .pointer, .date, .file, .bytes: .text
        case .number: .number
        case .boolean: .flag
        case .numberOrText, .array, .object, .geoPoint, .polygon, .relation: .json
        }
    }

    /// Whether the values are lists or objects that are compared as a whole.
    var isStructure: Bool {
        switch self {
        case .array, .object, .geoPoint, .polygon: true
        default: false
        }
    }
}
