/// The parts of an object that leave, by dotted names: what `keys` and `excludeKeys` of a query say.
///
/// As in MongoDB's projections, a name reaches into objects and into every object of an array. What is no object has no
/// members, so that a name that reaches into it gets nothing of it, and takes nothing away. A wire hash (Pointer, Date,
/// File and so on) is one value and never cut apart.
public struct KeySelection: Sendable {
    private struct Name: Sendable {
        /// As it stands between the quotes of a document's text.
        let text: [UInt8]
        /// Nil when the whole member is meant.
        let below: [Name]?
    }

    /// The selection of a query without `keys` and `excludeKeys`.
    public static let everything = KeySelection(keys: nil, excludeKeys: [])

    /// Nil for everything.
    private let wanted: [Name]?
    private let unwanted: [Name]

    /// - Parameter keys: names wanted; nil means all.
    public init(keys: [String]?, excludeKeys: [String]) {
        self.init(wanted: keys.map(Self.names), unwanted: Self.names(excludeKeys))
    }

    /// Names that one option of a query may hold, more than a class has fields.
    public static let namesMax = 1000
    /// Their bytes together, 32 KiB.
    public static let nameBytesMax = 32_768

    /// Checks the names of an option before anything is done with them.
    /// - Throws: `.invalidQuery` (102) for too many.
    public static func check(_ names: [String], _ option: String) throws(ParseError) {
        guard names.count <= namesMax, names.reduce(0, { $0 + $1.utf8.count }) <= nameBytesMax else {
            throw ParseError(
                .invalidQuery, "\(option) may hold at most \(namesMax) names of \(nameBytesMax) bytes together.")
        }
    }

    private init(wanted: [Name]?, unwanted: [Name]) {
        self.wanted = wanted
        self.unwanted = unwanted
    }

    private static func names(_ keys: [String]) -> [Name] {
        // The rest of a name that is deeper than any object stays one component, which no member has as its name.
        names(keys.map { $0.split(separator: ".", maxSplits: JSON.depthMax, omittingEmptySubsequences: false)[...] })
    }

    private static func names(_ paths: [ArraySlice<Substring>]) -> [Name] {
        Dictionary(grouping: paths) { $0.first ?? "" }.map { first, paths in
            let isWhole = paths.contains { $0.count <= 1 }
            return Name(
                text: JSON.string(String(first)).serialized.dropFirst().dropLast(),
                below: isWhole ? nil : names(paths.map { $0.dropFirst() }))
        }
    }

    /// Whether nothing is left out, so that a document can leave as it is stored.
    public var isEverything: Bool { wanted == nil && unwanted.isEmpty }

    /// The selection within one member; nil when nothing of it is selected.
    /// - Parameter name: as it stands between the quotes of a document's text.
    public func selection(of name: some Collection<UInt8>) -> KeySelection? {
        func find(_ names: [Name]) -> Name? {
            names.first { $0.text.count == name.count && $0.text.elementsEqual(name) }
        }
        var below: [Name]?
        if let wanted {
            guard let found = find(wanted) else { return nil }
            below = found.below
        }
        guard let left = find(unwanted) else { return KeySelection(wanted: below, unwanted: []) }
        return left.below.map { KeySelection(wanted: below, unwanted: $0) }
    }

    /// Appends what leaves of a member, with its name. A null has no members and is one itself: it leaves whole, as it
    /// does from an object of which everything leaves, so that who asks for `a.b` learns that `a` was set to null.
    /// - Parameter isFirst: whether no comma belongs before it.
    /// - Returns: false when nothing was appended.
    public func append(
        _ member: JSONMembers.Member, of object: UnsafeBufferPointer<UInt8>, isFirst: Bool, to output: inout [UInt8]
    ) -> Bool {
        let start = output.count
        if !isFirst { output.append(UInt8(ascii: ",")) }
        output.append(contentsOf: object[(member.name.lowerBound - 1)..<member.value.lowerBound])
        if object[member.value].elementsEqual("null".utf8) {
            output.append(contentsOf: object[member.value])
            return true
        }
        if append(UnsafeBufferPointer(rebasing: object[member.value]), to: &output) { return true }
        output.removeLast(output.count - start)
        return false
    }

    /// Appends what leaves of a value, as text: nothing is decoded.
    /// - Returns: false when nothing was appended, because the value has no members.
    public func append(_ value: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) -> Bool {
        if !isEverything, let members = JSONMembers.scan(value),
            !members.contains(where: { value[$0.name].elementsEqual("__type".utf8) })
        {
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for member in members {
                guard let selection = selection(of: value[member.name]) else { continue }
                if selection.append(member, of: value, isFirst: isFirst, to: &output) { isFirst = false }
            }
            output.append(UInt8(ascii: "}"))
        } else if !isEverything, let elements = JSONMembers.elements(value) {
            output.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                if append(UnsafeBufferPointer(rebasing: value[element]), to: &output) {
                    isFirst = false
                } else if !isFirst {
                    output.removeLast()
                }
            }
            output.append(UInt8(ascii: "]"))
        } else {
            let isObject = value.first == UInt8(ascii: "{")
            guard wanted == nil || isObject else { return false }
            output.append(contentsOf: value)
        }
        return true
    }

    /// The selected part of a value; nil when it has no members.
    public func applied(to value: JSON) -> JSON? {
        if isEverything { return value }
        var output: [UInt8] = []
        let isThere = value.serialized.withUnsafeBufferPointer { append($0, to: &output) }
        return isThere ? try? JSON(parsing: output) : nil
    }
}
