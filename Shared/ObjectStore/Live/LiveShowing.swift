import ParseProtocol

/// One change in the forms in which subscribers are shown it; each form is made once.
final class LiveShowing {
    private struct Form: Hashable {
        let isAfter: Bool
        let keys: [String]
        /// Nil where all callers see the same fields.
        let caller: Caller?
    }

    let change: StoredChange
    let before: LiveImage?
    let after: LiveImage?
    /// Whether everybody may ask the class about anything.
    let mayAllAsk: Bool
    /// Whether everybody may read both sides, too: then nobody's rights need a look.
    let isForAll: Bool
    /// Whether all who may read an object see all of it.
    let hidesNothing: Bool
    private var forms: [Form: [UInt8]] = [:]
    private var hiddenFields: [Caller: [String]] = [:]

    init(_ change: StoredChange) {
        self.change = change
        before = change.before.map(LiveImage.init)
        after = change.after.map(LiveImage.init)
        let permissions = change.info.permissions
        // Users and others of the protocol's own classes have rules of their own about who sees what.
        hidesNothing = permissions.protectedFields.isEmpty && !change.className.hasPrefix("_")
        mayAllAsk = hidesNothing && [.find, .get].allSatisfy { permissions[$0].principals["*"] == true }
        isForAll =
            mayAllAsk
            && [before, after].allSatisfy { $0.map { $0.access?.publicRead ?? false } ?? true }
    }

    /// Whether one of the fields has another value after the change.
    func hasChanged(_ fields: [String]) -> Bool {
        fields.contains { name in
            guard let path = try? FieldPath(name) else { return false }
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

    /// What a caller is shown. An image that may not be read, or could not be, is not shown: of an object that was
    /// taken from the caller he is shown what he knew.
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

    /// The fields that the class may hide from a caller, whichever object it is, in order.
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
            keys: keys, excludeKeys: [], permissions: change.info.permissions, className: change.className,
            caller: hidesNothing ? .anonymous : caller)
        var text: [UInt8] = []
        image?.stored.text.withUnsafeBufferPointer {
            selection.append($0, objectId: change.objectId, to: &text)
        }
        let named = Self.naming(change.className, text)
        forms[key] = named
        return named
    }

    /// The object with its class, by which SDKs know what to make of it. The one for iOS passes over what does not say
    /// that it is an object, as Parse Server's events do.
    private static func naming(_ className: String, _ object: [UInt8]) -> [UInt8] {
        var text = Array(#"{"__type":"Object","className":"#.utf8) + JSON.string(className).serialized
        let members = object.dropFirst()
        if members.count > 1 { text.append(UInt8(ascii: ",")) }
        return text + (members.isEmpty ? ArraySlice("}".utf8) : members)
    }
}
