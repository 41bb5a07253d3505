import ParseProtocol

/// The fields of a document that a caller gets.
struct FieldSelection {
    private let chosen: KeySelection
    private let hidden: [[UInt8]]
    /// Fields that may name the caller, and the fields to hide from a caller named there.
    private let naming: [(field: [UInt8], hides: [[UInt8]])]
    private let userId: String
    /// The user's own id: users see all fields of their own `_User` object.
    private let exemptId: String?
    /// Whether user names that are e-mail addresses are hidden (`ClassPermissions.displayFields`).
    private let hidesAddresses: Bool

    /// The installation id of the device that queries installations, in lower case; empty when the device does not send
    /// one. Nil where nothing must be hidden from it.
    private let device: String?

    /// The relation fields, which stored documents may lack.
    private let relations: RelationMembers

    /// The device token allows sending pushes to the device, and the installation id authenticates the device.
    private static let deviceSecrets = ["deviceToken", "installationId"].map { Array($0.utf8) }
    private static let username = Array("username".utf8)
    private static let always = ["objectId", "createdAt", "updatedAt", "ACL"].map { Array($0.utf8) }

    init(
        keys: [String], excludeKeys: [String], of info: ClassInfo, caller: Caller
    ) {
        let (permissions, className) = (info.permissions, info.name)
        relations = info.relationMembers
        let isAll = keys.isEmpty || keys == Query.allAndScore
        chosen = KeySelection(keys: isAll ? nil : keys.filter { $0 != "$score" }, excludeKeys: excludeKeys)
        let ofGroups = permissions.fieldsOfGroups(caller)
        let secret = SecretFields.unshown(in: className, to: caller).union(info.undisplayedFields(to: caller))
        hidden = (secret.isEmpty ? ofGroups ?? [] : secret.union(ofGroups ?? [])).map { Array($0.utf8) }
        // If no group of the caller hides fields, the field's own list applies; else only the intersection with the
        // groups' fields is hidden.
        naming = permissions.fieldsOfUserFields(caller).map { group in
            (
                Array(group.field.utf8),
                (ofGroups.map(group.hides.intersection) ?? group.hides).union(secret).map { Array($0.utf8) }
            )
        }
        userId = caller.userId ?? ""
        exemptId = className == "_User" ? caller.userId : nil
        hidesAddresses = permissions.showsDisplayFieldsOnly(to: caller)
        device =
            className == "_Installation" && !caller.isMaster ? caller.installationId?.lowercased() ?? "" : nil
    }

    /// True when documents are returned as stored.
    var isEverything: Bool { relations.isEmpty && showsAll }

    private var showsAll: Bool {
        chosen.isEverything && hidden.isEmpty && naming.isEmpty && device == nil && !hidesAddresses
    }

    /// Appends the document with the permitted fields. Works on the text without decoding it.
    func append(
        _ document: UnsafeBufferPointer<UInt8>, objectId: @autoclosure () -> String, to output: inout [UInt8]
    ) {
        guard !relations.isEmpty, let completed = relations.completing(document) else {
            return appendSelected(document, objectId: objectId(), to: &output)
        }
        completed.withUnsafeBufferPointer { appendSelected($0, objectId: objectId(), to: &output) }
    }

    private func appendSelected(
        _ document: UnsafeBufferPointer<UInt8>, objectId: @autoclosure () -> String, to output: inout [UInt8]
    ) {
        if showsAll {
            output.append(contentsOf: document)
            return
        }
        // The store wrote the text, so it is an object.
        guard let members = JSONMembers.scan(document) else { return output.append(contentsOf: "{}".utf8) }
        var hidden = hidden
        let isExempt = exemptId != nil && exemptId == objectId()
        if isExempt {
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
            if hidesAddresses, !isExempt, name.elementsEqual(Self.username),
                document[member.value].contains(UInt8(ascii: "@"))
            {
                continue
            }
            let isAlways = isIn(FieldSelection.always)
            guard isAlways || !isIn(hidden), let selection = isAlways ? .everything : chosen.selection(of: name) else {
                continue
            }
            if selection.append(member, of: document, isFirst: isFirst, to: &output) { isFirst = false }
        }
        output.append(UInt8(ascii: "}"))
    }

    /// Whether an installation belongs to a device.
    private static func isRow(
        of device: String, _ document: UnsafeBufferPointer<UInt8>, _ members: [JSONMembers.Member]
    ) -> Bool {
        guard !device.isEmpty,
            let member = members.first(where: { document[$0.name].elementsEqual("installationId".utf8) }),
            let id = try? JSON(parsing: Array(document[member.value])).stringValue
        else { return false }
        return id == device
    }

    /// The hidden fields of this document: those in every group that applies. The groups of fields that name the caller
    /// apply too.
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

    /// Whether the value is a pointer to the caller, or a list that contains one.
    private func names(_ value: JSON) -> Bool {
        (value.arrayValue ?? [value]).contains { element in
            element.pointerTarget.map { $0.className == "_User" && $0.objectId == userId } ?? false
        }
    }
}
