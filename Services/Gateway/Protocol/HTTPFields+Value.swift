import HTTPTypes

extension HTTPFields {
    /// The value of a field, as from the subscript. The subscript builds a joined value even for a single field, at a
    /// cost that profiles show.
    func value(_ name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            guard found == nil else { return self[name] }
            found = field.value
        }
        return found
    }
}
