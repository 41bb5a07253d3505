import ParseProtocol

/// Which fields of a document leave the store.
struct FieldSelection {
    private let keys: [[UInt8]]?
    private let excluded: [[UInt8]]
    private let hidden: [[UInt8]]
    /// A user sees all of the own `_User` object.
    private let exemptId: String?

    private static let always = ["objectId", "createdAt", "updatedAt", "ACL"].map { Array($0.utf8) }

    init(keys: [String], excludeKeys: [String], hidden: Set<String>, className: String, caller: Caller) {
        // Of a dotted key the whole first field is kept.
        let wanted = keys.filter { $0 != "$score" }.map { Array($0.utf8.prefix { $0 != UInt8(ascii: ".") }) }
        self.keys = keys.isEmpty ? nil : wanted
        // Of an excluded dotted key the field stays: leaving it out would take its other members, too.
        excluded = excludeKeys.filter { !$0.contains(".") }.map { Array($0.utf8) }
        self.hidden = hidden.map { Array($0.utf8) }
        exemptId = className == "_User" ? caller.userId : nil
    }

    /// True when documents pass as they are stored.
    var isEverything: Bool { keys == nil && excluded.isEmpty && hidden.isEmpty }

    /// Appends the document with the fields that may leave. Works on the text: nothing is decoded.
    func append(
        _ document: UnsafeBufferPointer<UInt8>, objectId: @autoclosure () -> String, to output: inout [UInt8]
    ) {
        if isEverything {
            output.append(contentsOf: document)
            return
        }
        // The store wrote the text, so that it is an object.
        guard let members = JSONMembers.scan(document) else { return output.append(contentsOf: "{}".utf8) }
        let hidden = hidden.isEmpty || (exemptId != nil && exemptId == objectId()) ? [] : hidden
        var isFirst = true
        output.append(UInt8(ascii: "{"))
        for member in members {
            let name = document[member.name]
            func isIn(_ names: [[UInt8]]) -> Bool {
                names.contains { $0.count == name.count && $0.elementsEqual(name) }
            }
            guard isIn(FieldSelection.always) || (keys.map(isIn) ?? true) && !isIn(excluded) && !isIn(hidden) else {
                continue
            }
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output.append(contentsOf: document[(member.name.lowerBound - 1)..<member.value.upperBound])
        }
        output.append(UInt8(ascii: "}"))
    }
}
