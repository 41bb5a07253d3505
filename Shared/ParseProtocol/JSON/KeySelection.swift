/// The selected parts of an object, by dotted names: the `keys` and `excludeKeys` of a query.
///
/// As in MongoDB's projections, a name selects within objects and within every object of an array. A value that is not
/// an object has no members: a name that leads into it selects nothing and removes nothing. A typed value (Pointer,
/// Date, File and so on) is one value and is never split.
public struct KeySelection: Sendable {
    private struct Name: Sendable {
        /// In the form between the quotes of a document's text.
        let text: [UInt8]
        /// Nil when the whole member is selected.
        let below: [Name]?
    }

    /// The selection of a query without `keys` and `excludeKeys`.
    public static let everything = KeySelection(keys: nil, excludeKeys: [])

    /// Nil for everything.
    private let wanted: [Name]?
    private let unwanted: [Name]

    /// - Parameter keys: selected names; nil means all.
    public init(keys: [String]?, excludeKeys: [String]) {
        self.init(wanted: keys.map(Self.names), unwanted: Self.names(excludeKeys))
    }

    /// Limit of names in one option of a query; more than a class has fields.
    public static let namesMax = 1000
    /// Limit of their total bytes, 32 KiB.
    public static let nameBytesMax = 32_768

    /// Checks the names of an option before they are used.
    /// - Throws: `.invalidQuery` (102) for too many names.
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
        // A name that is deeper than any object keeps its rest as one component, which matches no member.
        names(keys.map { $0.split(separator: ".", maxSplits: JSON.depthMax, omittingEmptySubsequences: false)[...] })
    }

    /// Sorted ascending by text.
    private static func names(_ paths: [ArraySlice<Substring>]) -> [Name] {
        Dictionary(grouping: paths) { $0.first ?? "" }.map { first, paths in
            let isWhole = paths.contains { $0.count <= 1 }
            return Name(
                text: JSON.string(String(first)).serialized.dropFirst().dropLast(),
                below: isWhole ? nil : names(paths.map { $0.dropFirst() }))
        }.sorted { $0.text.lexicographicallyPrecedes($1.text) }
    }

    /// Whether everything is selected, so that a document can be returned as stored.
    public var isEverything: Bool { wanted == nil && unwanted.isEmpty }

    /// The selection within one member; nil when nothing of it is selected.
    /// - Parameter name: in the form between the quotes of a document's text.
    public func selection(of name: some Collection<UInt8>) -> KeySelection? {
        // In calls from other modules, generic code would look up functions for each byte.
        name.withContiguousStorageIfAvailable(selection(named:))
            ?? Array(name).withUnsafeBufferPointer(selection(named:))
    }

    private func selection(named name: UnsafeBufferPointer<UInt8>) -> KeySelection? {
        func find(_ names: [Name]) -> Name? {
            var (low, high) = (0, names.count)
            while low < high {
                let middle = (low + high) / 2
                if names[middle].text.lexicographicallyPrecedes(name) { low = middle + 1 } else { high = middle }
            }
            return low < names.count && names[low].text.elementsEqual(name) ? names[low] : nil
        }
        var below: [Name]?
        if let wanted {
            guard let found = find(wanted) else { return nil }
            below = found.below
        }
        guard let left = find(unwanted) else { return KeySelection(wanted: below, unwanted: []) }
        return left.below.map { KeySelection(wanted: below, unwanted: $0) }
    }

    /// Appends the selected parts of a member, with its name. A null is appended whole, although it has no members: a
    /// client that asks for `a.b` thus learns that `a` is null.
    /// - Parameter isFirst: whether no comma is needed before it.
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

    /// Appends the selected parts of a value, as text and without decoding.
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

    /// The selected parts of an object's members, and the whole members named in `always`. As in a document, a null
    /// remains.
    public func applied(to members: [String: JSON], always: Set<String>) -> [String: JSON] {
        var left: [String: JSON] = [:]
        for (name, value) in members {
            if always.contains(name) {
                left[name] = value
            } else if let selection = selection(of: JSON.string(name).serialized.dropFirst().dropLast()) {
                left[name] = value.isNull ? value : selection.applied(to: value)
            }
        }
        return left
    }

    /// The selected parts of a value; nil when it has no members.
    public func applied(to value: JSON) -> JSON? {
        if isEverything { return value }
        var output: [UInt8] = []
        let isThere = value.serialized.withUnsafeBufferPointer { append($0, to: &output) }
        return isThere ? try? JSON(parsing: output) : nil
    }
}
