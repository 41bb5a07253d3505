import ParseProtocol

/// The members that show a class's relation fields in its objects.
///
/// An object saved after the field was added contains the member. An older object does not: adding a relation field
/// changes no object, and each text that leaves the store is completed from the schema.
struct RelationMembers: Sendable {
    /// The text of each member, `"players":{"__type":"Relation","className":"Player"}`.
    private let members: [(name: String, target: String, text: [UInt8])]

    init(_ fields: [String: FieldType]) {
        members = fields.compactMap { name, type in
            guard case .relation(let target) = type else { return nil }
            return (name, target, JSON.string(name).serialized + [UInt8(ascii: ":")] + JSON.relation(target).serialized)
        }.sorted { $0.name < $1.name }
    }

    var isEmpty: Bool { members.isEmpty }
    var names: [String] { members.map(\.name) }

    /// The document with its missing members added; nil when none is missing.
    func completing(_ document: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard !members.isEmpty, let stored = JSONMembers.scan(document) else { return nil }
        let missing = members.filter { member in
            !stored.contains { document[$0.name].elementsEqual(member.name.utf8) }
        }
        guard !missing.isEmpty else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(missing.reduce(document.count) { $0 + $1.text.count + 1 })
        text.append(contentsOf: document.dropLast())
        for member in missing {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text.append(contentsOf: member.text)
        }
        text.append(UInt8(ascii: "}"))
        return text
    }

    func completed(_ text: [UInt8]) -> [UInt8] {
        text.withUnsafeBufferPointer(completing) ?? text
    }

    /// The values of the relation fields, by name.
    var values: [String: JSON] {
        Dictionary(members.map { ($0.name, JSON.relation($0.target)) }) { first, _ in first }
    }
}
