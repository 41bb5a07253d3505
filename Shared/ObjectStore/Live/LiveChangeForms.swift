import ParseProtocol

/// One change in the forms that subscribers see; each form is built once.
final class LiveChangeForms {
    private struct Form: Hashable {
        let isAfter: Bool
        let keys: [String]
        /// Nil where all callers see the same fields.
        let caller: Caller?
    }

    let change: StoredChange
    let before: LiveImage?
    let after: LiveImage?
    /// Whether all callers may use all fields of the class in queries.
    let mayAllAsk: Bool
    /// Whether all callers may also read both sides; then no rights are checked.
    let isForAll: Bool
    /// Whether every caller that may read an object sees all its fields.
    let hidesNothing: Bool
    private var forms: [Form: [UInt8]] = [:]
    private var hiddenFields: [Caller: [String]] = [:]

    init(_ change: StoredChange) {
        self.change = change
        before = change.before.map(LiveImage.init)
        after = change.after.map(LiveImage.init)
        let permissions = change.info.permissions
        // For `_User` and other built-in classes the protocol has separate visibility rules.
        hidesNothing = permissions.protectedFields.isEmpty && !change.className.hasPrefix("_")
        mayAllAsk = hidesNothing && [.find, .get].allSatisfy { permissions[$0].principals["*"] == true }
        isForAll =
            mayAllAsk
            && [before, after].allSatisfy { $0.map { $0.access?.publicRead ?? false } ?? true }
    }

    /// Whether one of the fields has a different value after the change.
    func hasChanged(_ fields: [String]) -> Bool {
        fields.contains { name in
            guard let path = try? FieldPath(inMemory: name) else { return false }
            let (old, new) = (value(path, before), value(path, after))
            guard let old, let new else { return old != nil || new != nil }
            return !LiveValue.isSame(old, new)
        }
    }

    private func value(_ path: FieldPath, _ image: LiveImage?) -> JSON? {
        path.components.dropFirst().reduce(image?.stored.fields[path.root]) { value, name in
            if case .array(let elements)? = value {
                return FieldPath.index(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            }
            return value?[name]
        }
    }

    /// The images that a caller sees. An image that the caller may not or could not read is left out. If the caller
    /// lost access to the object, the event shows its earlier state.
    func shown(
        _ kind: LiveEvent.Kind, _ keys: [String], _ caller: Caller, _ readable: (before: Bool, after: Bool)
    ) -> (object: [UInt8], original: [UInt8]?) {
        switch kind {
        case .create: return (form(after, isAfter: true, keys, caller), nil)
        case .delete: return (form(before, isAfter: false, keys, caller), nil)
        case .enter, .update, .leave:
            let original = readable.before ? form(before, isAfter: false, keys, caller) : nil
            guard readable.after else { return (original ?? Array("{}".utf8), original) }
            return (form(after, isAfter: true, keys, caller), original)
        }
    }

    /// The sorted fields that the class may hide from a caller, for any object.
    func hidden(from caller: Caller) -> [String] {
        guard !hidesNothing else { return [] }
        if let known = hiddenFields[caller] { return known }
        let ofUserFields = change.info.permissions.fieldsOfUserFields(caller).map(\.hides)
        let names = ofUserFields.reduce(change.info.unshownFields(to: caller)) { $0.union($1) }.sorted()
        hiddenFields[caller] = names
        return names
    }

    private func form(_ image: LiveImage?, isAfter: Bool, _ keys: [String], _ caller: Caller) -> [UInt8] {
        let key = Form(isAfter: isAfter, keys: keys, caller: hidesNothing ? nil : caller)
        if let known = forms[key] { return known }
        let selection = FieldSelection(
            keys: keys, excludeKeys: [], of: change.info, caller: hidesNothing ? .anonymous : caller)
        var text: [UInt8] = []
        image?.stored.text.withUnsafeBufferPointer {
            selection.append($0, objectId: change.objectId, to: &text)
        }
        let named = Self.naming(change.className, text)
        forms[key] = named
        return named
    }

    /// Adds the class to the object, as in Parse Server's events: SDKs need it, and the iOS SDK ignores events whose
    /// object has no type.
    private static func naming(_ className: String, _ object: [UInt8]) -> [UInt8] {
        var text = Array(#"{"__type":"Object","className":"#.utf8) + JSON.string(className).serialized
        let members = object.dropFirst()
        if members.count > 1 { text.append(UInt8(ascii: ",")) }
        return text + (members.isEmpty ? ArraySlice("}".utf8) : members)
    }
}
