import ParseProtocol

/// The fields of a document that leave the store.
struct FieldSelection {
    private let chosen: KeySelection
    private let hidden: [[UInt8]]
    /// Fields that may name the caller, and what is hidden from whom they name.
    private let naming: [(field: [UInt8], hides: [[UInt8]])]
    private let userId: String
    /// A user sees all of the own `_User` object.
    private let exemptId: String?

    /// The device that asks for installations, in lower case and empty when it does not say; nil where there is nothing
    /// to keep from it.
    private let device: String?

    /// With the token whoever has it sends pushes to the device; the id is what a device proves with that it is the
    /// one.
    private static let deviceSecrets = ["deviceToken", "installationId"].map { Array($0.utf8) }
    private static let always = ["objectId", "createdAt", "updatedAt", "ACL"].map { Array($0.utf8) }

    init(
        keys: [String], excludeKeys: [String], permissions: ClassPermissions, className: String, caller: Caller
    ) {
        let isAll = keys.isEmpty || keys == Query.allAndScore
        chosen = KeySelection(keys: isAll ? nil : keys.filter { $0 != "$score" }, excludeKeys: excludeKeys)
        let ofGroups = permissions.fieldsOfGroups(caller)
        let secret = SecretFields.unshown(in: className, to: caller)
        hidden = (secret.isEmpty ? ofGroups ?? [] : secret.union(ofGroups ?? [])).map { Array($0.utf8) }
        // Without a group of the caller's own, a field that names them hides what it says; otherwise at most what the
        // groups hide.
        naming = permissions.fieldsOfUserFields(caller).map { group in
            (
                Array(group.field.utf8),
                (ofGroups.map(group.hides.intersection) ?? group.hides).union(secret).map { Array($0.utf8) }
            )
        }
        userId = caller.userId ?? ""
        exemptId = className == "_User" ? caller.userId : nil
        device =
            className == "_Installation" && !caller.isMaster ? caller.installationId?.lowercased() ?? "" : nil
    }

    /// True when documents pass as they are stored.
    var isEverything: Bool { chosen.isEverything && hidden.isEmpty && naming.isEmpty && device == nil }

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
        var hidden = hidden
        if exemptId != nil, exemptId == objectId() {
            hidden = []
        } else if !naming.isEmpty {
            hidden = self.hidden(in: document, members)
        }
        if let device, !Self.isRow(of: device, document, members) { hidden += Self.deviceSecrets }
        var isFirst = true
        output.append(UInt8(ascii: "{"))
        for member in members {
            let name = document[member.name]
            func isIn(_ names: [[UInt8]]) -> Bool {
                names.contains { $0.count == name.count && $0.elementsEqual(name) }
            }
            let isAlways = isIn(FieldSelection.always)
            guard isAlways || !isIn(hidden), let selection = isAlways ? .everything : chosen.selection(of: name) else {
                continue
            }
            if selection.append(member, of: document, isFirst: isFirst, to: &output) { isFirst = false }
        }
        output.append(UInt8(ascii: "}"))
    }

    /// Whether an installation is that of a device.
    private static func isRow(
        of device: String, _ document: UnsafeBufferPointer<UInt8>, _ members: [JSONMembers.Member]
    ) -> Bool {
        guard !device.isEmpty,
            let member = members.first(where: { document[$0.name].elementsEqual("installationId".utf8) }),
            let id = try? JSON(parsing: Array(document[member.value])).stringValue
        else { return false }
        return id == device
    }

    /// The hidden fields of this document: those that every group that applies hides. Groups of fields that name the
    /// caller apply too.
    private func hidden(in document: UnsafeBufferPointer<UInt8>, _ members: [JSONMembers.Member]) -> [[UInt8]] {
        var hidden: [[UInt8]]?
        for (field, hides) in naming {
            guard
                let member = members.first(where: { document[$0.name].elementsEqual(field) }),
                let value = try? JSON(parsing: Array(document[member.value])), names(value)
            else { continue }
            hidden = hidden.map { known in known.filter(hides.contains) } ?? hides
        }
        return hidden ?? self.hidden
    }

    /// Whether a pointer, or a list with one, is to the caller.
    private func names(_ value: JSON) -> Bool {
        (value.arrayValue ?? [value]).contains { element in
            element.pointerTarget.map { $0.className == "_User" && $0.objectId == userId } ?? false
        }
    }
}
