import ParseProtocol

/// Which fields of a document leave the store.
struct FieldSelection {
    private let keys: Set<String>?
    private let excluded: Set<String>
    private let hidden: Set<String>
    /// A user sees all of the own `_User` object.
    private let exemptId: String?

    init(keys: [String], excludeKeys: [String], hidden: Set<String>, className: String, caller: Caller) {
        let wanted = keys.filter { $0 != "$score" }
        self.keys = wanted.isEmpty ? nil : Set(wanted.map(FieldSelection.root))
        // Of an excluded dotted key the field stays: leaving it out would take its other members, too.
        excluded = Set(excludeKeys.filter { !$0.contains(".") })
        self.hidden = hidden
        exemptId = className == "_User" ? caller.userId : nil
    }

    private static func root(_ key: String) -> String { key.split(separator: ".").first.map(String.init) ?? key }

    /// True when documents pass as they are stored.
    var isEverything: Bool { keys == nil && excluded.isEmpty && hidden.isEmpty }

    func apply(to document: UnsafeBufferPointer<UInt8>, objectId: @autoclosure () -> String) -> [UInt8] {
        let hidden = hidden.isEmpty || (exemptId != nil && exemptId == objectId()) ? [] : hidden
        return JSONMembers.filter(Array(document)) { name in
            let name = String(name)
            if ["objectId", "createdAt", "updatedAt", "ACL"].contains(name) { return true }
            return !hidden.contains(name) && keys?.contains(name) ?? true && !excluded.contains(name)
        }
    }
}
